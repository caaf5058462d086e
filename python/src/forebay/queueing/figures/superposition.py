"""Many devices together are Poisson: the assumption under (1)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .._departures import erlang_cdf, kolmogorov_smirnov, superposed_intervals
from ._chart import COLOURS, axes, finish, legend
from ._effort import Effort
from ._table import Table

__all__ = ["draw", "table"]

DEVICES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def table(effort: Effort) -> Table:
    """A row for each number of devices."""
    result = Table(
        "superposition",
        "Distance between the intervals of K periodic devices and exponential ones",
        "formula: the largest difference between 1 - (1 - t/K)^(K-1), the interval of K random phases, and 1 - exp(-t); "
        "simulation: Kolmogorov-Smirnov distance of a sample; noise: that of 95 % of all samples that are Poisson.",
    )
    for devices in DEVICES:
        gaps = np.sort(superposed_intervals(devices, 1.0, effort.departures))
        result.rows.append(
            {
                "devices": devices,
                "formula": _distance(devices),
                "simulation": kolmogorov_smirnov(gaps, erlang_cdf(1, 1.0, gaps)),
                "noise": 1.36 / float(np.sqrt(gaps.size)),
            }
        )
    return result


def _distance(devices: int) -> float:
    time = np.linspace(0, max(10, min(devices, 40)), 400_001)
    if devices == 1:
        return float(max(1 - np.exp(-1), np.exp(-1)))
    exact = np.where(time < devices, np.maximum(1 - time / devices, 0) ** (devices - 1), 0)
    return float(np.abs(exact - np.exp(-time)).max())


def draw(rows: Table, folder: Path, png: bool = False) -> None:
    """Distance over the number of devices."""
    figure, chart = axes()
    devices = [row["devices"] for row in rows.rows]
    chart.loglog(devices, [row["formula"] for row in rows.rows], color=COLOURS[0], label="formula")
    chart.loglog(devices, [row["simulation"] for row in rows.rows], "o", color=COLOURS[0], label="simulation")
    chart.loglog(devices, [row["noise"] for row in rows.rows], "--", color="#777777", label="noise of the sample, 95 %")
    chart.set_xlabel("periodic devices, K")
    chart.set_ylabel("KS distance from Poisson (probability)")
    legend(figure, chart)
    finish(figure, folder, "superposition", "Messages of many periodic devices approach a Poisson process", png)
