"""Figure 7: departures of the first switch against Erlang-N, in both readings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from .._check import Array
from .._departures import (
    GROUPINGS,
    departure_cdf,
    erlang_cdf,
    erlang_density,
    erlang_distance,
    kolmogorov_smirnov,
    simulate_departures,
)
from .._measured import MeasuredDistance
from .._minimal_rate import Service
from ._chart import COLOURS, axes, finish, legend
from ._effort import Effort
from ._table import Cell, Table

__all__ = ["CHIP_PANELS", "PANELS", "Panel", "draw", "histogram", "table"]


@dataclass(frozen=True)
class Panel:
    """One of the four charts; the rate of service is in units of lambda."""

    name: str
    service: Service
    service_rate: float
    n: int


PANELS = (
    Panel("a", "exponential", 1.1, 5),
    Panel("b", "exponential", 1.1, 8),
    Panel("c", "exponential", 2.2, 5),
    Panel("d", "fixed", 1.1, 5),
)
_BINS = 60
_BETTER = "fits better than (a)"

_MORE_OF_D = Panel("d, N = 8", "fixed", 1.1, 8)

CHIP_PANELS = (PANELS[3], _MORE_OF_D)
"""Those with fixed service, which a chip has: (d), and the same with more messages."""


def table(effort: Effort, chip: list[MeasuredDistance], switch: list[MeasuredDistance]) -> Table:
    """Two rows a panel: service after and before grouping."""
    result = Table(
        "figure-7",
        "Kolmogorov-Smirnov distance between departures of N-packets and Erlang-N",
        "published: what the paper says of the panel, which has no figures; formula: exact distance (0 by Burke's theorem for "
        "exponential service before grouping; none is known for fixed service before grouping); simulation: of `packets` "
        "N-packets; exact_fit: distance between simulation and exact distribution; noise: what 95 % of samples that size stay "
        "below; chip: N-packets that left the timed model, whose service is fixed; switch: with the measured service times of the "
        "software switch, stretched to the panel's rate; *_noise: as noise, for their numbers of N-packets.",
    )
    for panel in (*PANELS, _MORE_OF_D):
        for grouping in GROUPINGS:
            gaps = _simulated(panel, grouping, effort.departures)
            formula = _formula(panel, grouping)
            result.rows.append(
                {
                    "panel": panel.name,
                    "service": panel.service,
                    "service_rate": panel.service_rate,
                    "n": panel.n,
                    "grouping": f"service {grouping} grouping",
                    "published": {"a": "fits", "b": _BETTER, "c": _BETTER, "d": _BETTER}.get(panel.name),
                    "formula": formula,
                    "simulation": kolmogorov_smirnov(gaps, erlang_cdf(panel.n, 1.0, gaps)),
                    "exact_fit": _exact_fit(panel, gaps) if grouping == "after" else None,
                    "noise": 1.36 / float(np.sqrt(gaps.size)),
                    "packets": int(gaps.size),
                    **_outside("chip", chip, panel, grouping),
                    **_outside("switch", switch, panel, grouping),
                }
            )
    return result


def histogram(effort: Effort) -> Table:
    """Densities over time, for the charts."""
    result = Table(
        "figure-7-density",
        "Density of the time between N-packets that leave the first switch",
        "time in units of 1 / lambda, the middle of a bin; densities per unit of time, the mean over the bin for exact_after, "
        "the exact distribution with service after grouping. Fixed service before grouping: nearly half of the N-packets leave "
        "N service times after the one before, in one bin.",
    )
    for panel in PANELS:
        edges = np.linspace(0, panel.n + 4 * np.sqrt(panel.n), _BINS + 1)
        densities = [_density(_simulated(panel, grouping, effort.departures), edges) for grouping in GROUPINGS]
        middle = (edges[1:] + edges[:-1]) / 2
        erlang = erlang_density(panel.n, 1.0, middle)
        exact = np.diff(departure_cdf(panel.n, 1.0, panel.service_rate, edges, panel.service)) / np.diff(edges)
        for time, formula, departures, after, before in zip(middle, erlang, exact, *densities, strict=True):
            result.rows.append(
                {
                    "panel": panel.name,
                    "time": float(time),
                    "erlang": float(formula),
                    "exact_after": float(departures),
                    "simulation_after": float(after),
                    "simulation_before": float(before),
                }
            )
    return result


def draw(distances: Table, densities: Table, folder: Path, png: bool = False) -> None:
    """The four panels, bars as in the paper."""
    figure, charts = axes(2, 2, height=2.9)
    for panel, chart in zip(PANELS, charts.flat, strict=True):
        rows = densities.select(panel=panel.name)
        time = np.array([row["time"] for row in rows], dtype=float)
        after, before, erlang, exact = (
            [row[name] for row in rows] for name in ("simulation_after", "simulation_before", "erlang", "exact_after")
        )
        chart.bar(time, after, width=time[1] - time[0], color=COLOURS[5], label="simulation, service after grouping")
        chart.plot(time, exact, color=COLOURS[0], label="exact, service after grouping")
        chart.plot(time, before, "o", color=COLOURS[1], markersize=2.5, label="simulation, service before grouping")
        chart.plot(time, erlang, color="black", label="Erlang-N, formula (1)")
        chart.set_ylim(0, 1.45 * max(float(value or 0) for value in erlang))
        ks = distances.select(panel=panel.name)
        chart.set_title(
            f"({panel.name}) {panel.service}, $\\mu$ = {panel.service_rate}$\\lambda$, N = {panel.n}: "
            f"KS {ks[0]['simulation']:.4f} after, {ks[1]['simulation']:.4f} before",
            fontsize=8.5,
        )
        chart.set_xlabel("time between N-packets (1/$\\lambda$)")
        chart.set_ylabel("density ($\\lambda$)")
    legend(figure, charts.flat[0], 2)
    finish(figure, folder, "figure-7", "Figure 7: departures of the first switch", png)


@lru_cache(maxsize=12)
def _simulated(panel: Panel, grouping: str, packets: int) -> Array:
    gaps = simulate_departures(
        panel.n, 1.0, panel.service_rate, panel.service, "after" if grouping == "after" else "before", packets
    )
    gaps.sort()
    gaps.setflags(write=False)
    return gaps


def _outside(name: str, distances: list[MeasuredDistance], panel: Panel, grouping: str) -> dict[str, Cell]:
    """The distance that something else has measured for a panel with fixed service."""
    for distance in distances:
        same = (distance.n, distance.grouping) == (panel.n, grouping) and panel.service == "fixed"
        if same and abs(distance.service_rate / panel.service_rate - 1) < 1e-6:
            return {name: distance.distance, f"{name}_noise": 1.36 / float(np.sqrt(distance.packets))}
    return {name: None, f"{name}_noise": None}


def _density(gaps: Array, edges: Array) -> Array:
    counts = np.histogram(gaps, edges)[0]
    result: Array = counts / gaps.size / np.diff(edges)
    return result


def _formula(panel: Panel, grouping: str) -> float | None:
    if grouping == "after":
        return erlang_distance(panel.n, 1.0, panel.service_rate, panel.service)
    return 0.0 if panel.service == "exponential" else None


def _exact_fit(panel: Panel, gaps: Array) -> float:
    """Exact distribution by interpolation between 4,001 points: error below 1e-6; a jump is left to the sample."""
    times = np.linspace(0.0, gaps[-1], 4001)
    if panel.service == "fixed":
        duration = 1 / panel.service_rate
        times = np.sort(np.append(times, [duration, duration * (1 - 1e-12)]))
        gaps = gaps[gaps > duration * (1 + 1e-9)]
        # Conditional on an idle time before.
        values = departure_cdf(panel.n, 1.0, panel.service_rate, times, panel.service)
        jump = float(departure_cdf(panel.n, 1.0, panel.service_rate, duration, panel.service))
        return kolmogorov_smirnov(gaps, np.clip((np.interp(gaps, times, values) - jump) / (1 - jump), 0, 1))
    values = departure_cdf(panel.n, 1.0, panel.service_rate, times, panel.service)
    return kolmogorov_smirnov(gaps, np.clip(np.interp(gaps, times, values), 0, 1))
