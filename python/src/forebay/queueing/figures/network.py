"""What the paper says of the network around the second switch, beside experiments of the repository on the timed chip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ._table import Row, Table

__all__ = ["line_rate", "loss"]


def line_rate(repository: Path) -> Table:
    """The highest load without loss of the aggregating switch: Table 1 of the same authors' first paper."""
    rows: list[Row] = [
        {
            "n": int(row["parameters"]["N"]),
            "flag_and_payload_bytes": int(row["parameters"]["S"]),
            "published_gbps": row["published"],
            "chip_gbps": row["model"],
        }
        for row in _rows(repository, "table-1")
    ]
    return Table(
        "line-rate",
        "Aggregation: the highest load without loss",
        "flag_and_payload_bytes: S of the first paper, 22 for 16 bytes of payload. chip: experiments/table-1.",
        rows,
    )


def loss(repository: Path) -> Table:
    """Messages that are lost in a network with less than the line rate."""
    found: dict[tuple[int, int, float], dict[str, float]] = {}
    for row in _rows(repository, "iot-path"):
        place = row["parameters"]
        key = int(place["FLOWS"]), int(place["N"]), float(place["WAN"])
        found.setdefault(key, {})[row["metric"]] = row["model"]
    rows: list[Row] = [
        {
            "flows": flows,
            "n": n,
            "network_gbps": gbps,
            "missing_percent": 100 * measured["messages_missing"] / measured["messages_sent"],
        }
        for (flows, n, gbps), measured in found.items()
    ]
    return Table(
        "network-loss",
        "20 MB/s of messages over a network of limited rate",
        "missing_percent: messages lost, or left in a batch that was never full. Timed chip: experiments/iot-path.",
        rows,
    )


def _rows(repository: Path, experiment: str) -> list[dict[str, Any]]:
    file = repository / "experiments" / experiment / "result.json"
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["rows"]
    return rows
