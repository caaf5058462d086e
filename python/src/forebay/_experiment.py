"""Published tables and figures beside what the model says."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay import _native

__all__ = ["Report", "experiment"]


class Report:
    """What was published beside what the model says."""

    def __init__(self, title: str, source: str, data: dict[str, Any], markdown: str) -> None:
        self.title = title
        self.source = source
        """Where it was published."""
        self.data = data
        """The report as `result.json` has it."""
        self.markdown = markdown
        """The report as `result.md` has it."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each published value: `parameters`, `metric`, `published`, `model`, ..."""
        return list(self.data["rows"])

    def column(self, name: str) -> NDArray[np.float64]:
        """A number of every row, of shape `(rows,)`; not a number where a row has none."""
        values = (row.get(name) for row in self.rows)
        return np.array([value if isinstance(value, int | float) else np.nan for value in values], dtype=np.float64)

    def __repr__(self) -> str:
        return f"<Report {self.title!r}: {len(self.rows)} rows>"


def experiment(
    folder: str | os.PathLike[str],
    *,
    quick: bool = False,
    ignore_fit: str | None = None,
    threads: int | None = None,
) -> Report:
    """Runs an experiment: a folder with `experiment.toml`, `scenario.toml` and `cells.csv`, as those in `experiments/`. Nothing is
    written.

    Parameters
    ----------
    quick
        Shorter trials and fewer cells.
    ignore_fit
        A reason to time programs that do not fit their chip.
    threads
        Simulations at a time; by default one for each processor.
    """
    if threads is not None and index(threads) < 1:
        raise ValueError(f"threads = {threads} must be at least 1")
    # A folder without it is no mistake in an experiment.
    _native.read_text(Path(folder, "experiment.toml"), "experiment")
    native = _native.Experiment(folder, quick, ignore_fit)
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        try:
            outcomes = list(pool.map(native.simulate, range(native.runs())))
        except BaseException:
            # After an interrupt (ctrl-C) or a mistake only those that have begun are awaited.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    text, markdown = native.report(outcomes, f"forebay experiment run {Path(folder).name}")
    return Report(*native.title(), json.loads(text), markdown)
