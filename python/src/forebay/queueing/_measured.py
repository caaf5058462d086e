"""What a chip, a switch or a controller has measured, from CSV files, for comparison with the formulas.

Four kinds of file, each with a header line; further columns are ignored, and lines that begin with `#` are comments:

* timestamps, a line for each N-packet in the order of arrival: `arrival_s` and `departure_s`, or one of them;
* waits: `n`, `message_rate`, `service_rate`, `service` (exponential or fixed), `mean_wait`, and if known `half_width`,
  in one unit of time;
* distances of departures: `grouping` (after or before), `n`, `service_rate`, `packets`, `distance`, with the rate in
  units of lambda;
* goodput curves: `n`, `arrival_rate`, `goodput`.

A file that cannot be read is a `forebay.FileError`, one with other content a `ValueError` that names the line.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from forebay import _native

from ._check import Array, count, non_negative, positive
from ._departures import GROUPINGS, erlang_cdf, kolmogorov_smirnov
from ._estimate import Estimate, batch_means
from ._minimal_rate import SERVICES

__all__ = [
    "GoodputCurve",
    "MeasuredDistance",
    "MeasuredWait",
    "departure_distance",
    "measured_waiting_time",
    "read_distances",
    "read_goodput_curves",
    "read_timestamps",
    "read_waits",
]


@dataclass(frozen=True)
class MeasuredWait:
    """A mean wait that something else than this package has measured or simulated."""

    n: int
    message_rate: float
    service_rate: float
    service: str
    mean_wait: float
    half_width: float | None


@dataclass(frozen=True)
class MeasuredDistance:
    """A Kolmogorov-Smirnov distance from Erlang-N of N-packets that left something else than this package's simulation, with fixed service."""

    grouping: str
    n: int
    service_rate: float
    packets: int
    distance: float


@dataclass(frozen=True)
class GoodputCurve:
    """Goodput over the arrival rate of messages, for one N: of a switch (Figure 9) or of controllers (Figure 12)."""

    n: int
    arrival_rate: Array
    goodput: Array

    def at(self, arrival_rate: ArrayLike) -> Array:
        """Goodput between the measured points, linearly; nan outside."""
        wanted = positive("arrival_rate", arrival_rate)
        result: Array = np.interp(wanted, self.arrival_rate, self.goodput, left=np.nan, right=np.nan)
        return result


def read_timestamps(path: str | Path, column: str) -> Array:
    """One column of a timestamps file, in seconds, one-dimensional."""
    rows = _rows(path, (column,))
    return np.array([_number(path, line, row, column) for line, row in rows], dtype=np.float64)


def read_waits(path: str | Path) -> list[MeasuredWait]:
    """The lines of a file of waits."""
    names = ("n", "message_rate", "service_rate", "service", "mean_wait")
    waits = []
    for line, row in _rows(path, names):
        rate, mu = (_rate(path, line, row, name) for name in ("message_rate", "service_rate"))
        service, mean = _word(path, line, row, "service", SERVICES), _number(path, line, row, "mean_wait")
        half = _number(path, line, row, "half_width") if row.get("half_width") else None
        waits.append(MeasuredWait(_integer(path, line, row, "n"), rate, mu, service, mean, half))
    return waits


def read_distances(path: str | Path) -> list[MeasuredDistance]:
    """The lines of a file of distances."""
    distances = []
    for line, row in _rows(path, ("grouping", "n", "service_rate", "packets", "distance")):
        grouping, rate = _word(path, line, row, "grouping", GROUPINGS), _rate(path, line, row, "service_rate")
        n, packets = (_integer(path, line, row, name) for name in ("n", "packets"))
        distances.append(MeasuredDistance(grouping, n, rate, packets, _number(path, line, row, "distance")))
    return distances


def read_goodput_curves(path: str | Path) -> dict[int, GoodputCurve]:
    """The curves of a file of goodput, by N, each sorted by arrival rate."""
    points: dict[int, list[tuple[float, float]]] = {}
    for line, row in _rows(path, ("n", "arrival_rate", "goodput")):
        point = (_number(path, line, row, "arrival_rate"), _number(path, line, row, "goodput"))
        points.setdefault(_integer(path, line, row, "n"), []).append(point)
    arrays = {n: np.array(sorted(curve)) for n, curve in sorted(points.items())}
    return {n: GoodputCurve(n, curve[:, 0], curve[:, 1]) for n, curve in arrays.items()}


def measured_waiting_time(
    arrivals: ArrayLike, departures: ArrayLike, service_time: float, batches: int = 32
) -> Estimate:
    """Mean wait from timestamps: departure less arrival less `service_time`, with the interval of batch means.

    Both are one-dimensional, equally long, in the order of arrival, at least two to a batch. A wait that is negative by
    more than a thousandth of the service time is bad input.

    >>> measured_waiting_time([0.0, 1.0, 2.0, 3.0], [2.0, 3.0, 5.0, 6.0], 2.0, batches=2).mean
    0.5
    """
    begin, end = non_negative("arrivals", arrivals), non_negative("departures", departures)
    duration, batches = float(positive("service_time", service_time)), count("batches", batches, minimum=2)
    if begin.ndim != 1 or begin.shape != end.shape or begin.size < 2 * batches:
        raise ValueError(
            f"departures has shape {end.shape} and arrivals {begin.shape}; "
            f"both must be one-dimensional, equal, with at least {2 * batches} elements"
        )
    waits = end - begin - duration
    if waits.min() < -1e-3 * duration:
        first = int(np.argmin(waits))
        raise ValueError(
            f"departures[{first}] = {end[first]:g} must be >= arrival + service_time = {end[first] - waits[first]:g}"
        )
    waits = np.maximum(waits[: waits.size // batches * batches], 0.0)
    return batch_means(waits.reshape(batches, -1).mean(axis=1), waits.size)


def departure_distance(departures: ArrayLike, n: int, message_rate: float) -> float:
    """Kolmogorov-Smirnov distance between measured departures of N-packets and Erlang-N.

    `departures` are times in increasing order, one-dimensional, at least 3.
    """
    times = non_negative("departures", departures)
    if times.ndim != 1 or times.size < 3 or np.any(np.diff(times) < 0):
        raise ValueError(f"departures of shape {times.shape} must be one-dimensional, increasing, at least 3 elements")
    gaps = np.sort(np.diff(times))
    return kolmogorov_smirnov(gaps, erlang_cdf(n, message_rate, gaps))


def _rows(path: str | Path, names: tuple[str, ...]) -> list[tuple[int, dict[str, str]]]:
    text = io.StringIO(_native.read_text(path, "table of measurements"), newline="")
    lines = [(number, line) for number, line in enumerate(text, 1) if line.strip() and not line.startswith("#")]
    reader = csv.DictReader(line for _, line in lines)
    missing = [name for name in names if name not in (reader.fieldnames or [])]
    if missing:
        raise ValueError(f"{path}: column {missing[0]!r} is missing; a header line must name {', '.join(names)}")
    rows = list(reader)
    if not rows:
        raise ValueError(f"{path}: there must be at least one line of values after the header")
    return [(number, row) for (number, _), row in zip(lines[1:], rows, strict=True)]


def _number(path: str | Path, line: int, row: dict[str, str], column: str) -> float:
    try:
        value = float(row[column])
    except (TypeError, ValueError):
        raise ValueError(f"{path}:{line}: {column} = {row[column]!r} must be a number") from None
    if not np.isfinite(value) or value < 0:
        raise ValueError(f"{path}:{line}: {column} = {row[column]} must be a finite number >= 0")
    return value


def _rate(path: str | Path, line: int, row: dict[str, str], column: str) -> float:
    value = _number(path, line, row, column)
    if value == 0:
        raise ValueError(f"{path}:{line}: {column} = {row[column]} must be above 0")
    return value


def _word(path: str | Path, line: int, row: dict[str, str], column: str, words: tuple[str, ...]) -> str:
    if row[column] not in words:
        raise ValueError(f"{path}:{line}: {column} = {row[column]!r} must be {' or '.join(words)}")
    return row[column]


def _integer(path: str | Path, line: int, row: dict[str, str], column: str) -> int:
    value = _number(path, line, row, column)
    if value != int(value) or value < 1:
        raise ValueError(f"{path}:{line}: {column} = {row[column]} must be an integer >= 1")
    return int(value)
