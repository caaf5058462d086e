"""Rows of a figure, as CSV and JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Cell", "Row", "Table"]

Cell = str | int | float | bool | None
Row = dict[str, Cell]


@dataclass
class Table:
    """Named rows; columns are those of the first row. `notes` say what the columns mean and in what units."""

    name: str
    title: str
    notes: str
    rows: list[Row] = field(default_factory=list)

    def select(self, **values: Cell) -> list[Row]:
        """The rows with these values."""
        return [row for row in self.rows if all(row[key] == value for key, value in values.items())]

    def write(self, folder: Path) -> None:
        """`name.csv` and `name.json`."""
        with open(folder / f"{self.name}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(self.rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(_rounded(self.rows))
        content = {"title": self.title, "notes": self.notes, "rows": list(_rounded(self.rows))}
        (folder / f"{self.name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _rounded(rows: Iterable[Mapping[str, Cell]]) -> list[dict[str, Cell]]:
    """Seven significant digits are enough, and hide the last bits, in which machines differ."""
    return [
        {key: float(f"{value:.7g}") if isinstance(value, float) else value for key, value in row.items()}
        for row in rows
    ]
