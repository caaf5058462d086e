"""Waits at the second switch: formula against simulation, Ciw and the chip, with confidence intervals.

The paper compares its formulas with its simulation: within 0.4 % for N = 1, 0.9 % for N = 2 and 3.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .._ciw import simulate_waiting_time_ciw
from .._e_n_d_1 import e_n_d_1_waiting_time
from .._e_n_m_1 import e_n_m_1_root, e_n_m_1_root_closed_form, e_n_m_1_waiting_time
from .._estimate import Estimate
from .._measured import MeasuredWait
from .._minimal_rate import SERVICES, Service, minimal_service_rate
from .._simulate import simulate_waiting_time
from ._chart import COLOURS, axes, finish, legend
from ._effort import Effort
from ._table import Cell, Row, Table

__all__ = ["DELTAS", "Cache", "draw", "draw_measured", "formula", "measured", "roots", "table"]

DELTAS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0)
_CIW_DELTAS = (0.1, 1.0)
PUBLISHED_PERCENT = {1: 0.4, 2: 0.9, 3: 0.9}


class Cache:
    """Finished simulations in a file of the output folder, so that a long run may be interrupted and continued.

    After `seconds` no new one begins: `Cache.estimate` then returns `None`, and `left` counts it.
    """

    def __init__(self, file: Path | None, seconds: float | None = None) -> None:
        self._file = file
        self._known: dict[str, list[float]] = {}
        if file is not None and file.exists():
            self._known = json.loads(file.read_text(encoding="utf-8"))
        self._end = None if seconds is None else time.monotonic() + seconds
        self.left = 0

    def estimate(self, key: str, simulate: Callable[[], Estimate]) -> Estimate | None:
        """The known estimate of this name, or a new one."""
        if key not in self._known:
            if self._end is not None and time.monotonic() > self._end:
                self.left += 1
                return None
            new = simulate()
            self._known[key] = [new.mean, new.half_width, new.packets]
            if self._file is not None:
                # An interrupt leaves the file of before, not the half of one.
                part = self._file.with_suffix(".part")
                part.write_text(json.dumps(self._known, indent=0) + "\n", encoding="utf-8")
                os.replace(part, self._file)
        mean, half_width, packets = self._known[key]
        return Estimate(mean, half_width, int(packets))


def formula(n: int, message_rate: float, service_rate: float, service: str) -> float:
    """Mean wait of E_N/M/1 or E_N/D/1."""
    mean = e_n_m_1_waiting_time if service == "exponential" else e_n_d_1_waiting_time
    return float(mean(n, message_rate, service_rate))


def table(effort: Effort, cache: Cache, chip: list[MeasuredWait], switch: list[MeasuredWait]) -> Table:
    """A row for each service, N and delta; the service rate is mu_N*(delta), so the wait is delta service times."""
    result = Table(
        "waits",
        "Mean wait at the second switch at mu_N*(delta): formula, simulation, Ciw, chip",
        "service_rate: mu_N* over lambda, constraint delta / mu_N; waits in units of 1 / lambda; *_half_width: half of the 95 % "
        "interval over the mean, in %; *_percent: discrepancy of the mean wait from the formula; rate_percent: discrepancy "
        "of mu_N* when the simulated wait is put in place of delta; published_percent: the largest one of the paper.",
    )
    cells = [(service, n, delta) for service in SERVICES for n in (1, 2, 3, 4, 8) for delta in DELTAS]
    rows = [_row(*cell, effort, cache) for cell in cells]
    # Ciw last: it takes a thousand times longer for an N-packet.
    for (service, n, delta), row in zip(cells, rows, strict=True):
        rate = float(str(row["service_rate"]))
        row |= _ciw(service, n, delta, rate, effort, cache)
        row |= _outside("chip", chip, n, rate, service) | _outside("switch", switch, n, rate, service)
        result.rows.append(row)
    return result


def measured(source: str, waits: list[MeasuredWait]) -> list[Row]:
    """A row for each wait that a chip or switch has measured, beside the formula at its own rates."""
    rows: list[Row] = []
    for wait in waits:
        expected = formula(wait.n, wait.message_rate, wait.service_rate, wait.service)
        rows.append(
            {
                "source": source,
                "n": wait.n,
                "service": wait.service,
                "service_rate": wait.service_rate / wait.message_rate,
                "formula": expected * wait.message_rate,
                "measured": wait.mean_wait * wait.message_rate,
                "half_width_percent": _half_width_percent(wait),
                "discrepancy_percent": 100 * (wait.mean_wait / expected - 1),
            }
        )
    return rows


def roots() -> Table:
    """(7) to (10): the root in closed form and by Newton's method."""
    result = Table(
        "roots",
        "The root x of (7) in closed form, (9) and (10), and numerically",
        "v: mu_N / lambda; difference: closed form over numerical root, less 1.",
    )
    for n in (1, 2, 3, 4):
        for v in (1.05 / n, 2 / n, 5 / n, 1.0 if n > 1 else 1.5, 5.0, 50.0):
            numeric = float(e_n_m_1_root(n, 1.0, v))
            closed = float(e_n_m_1_root_closed_form(n, 1.0, v))
            result.rows.append(
                {
                    "n": n,
                    "v": v,
                    "closed_form": closed,
                    "numerical": numeric,
                    "difference": closed / numeric - 1,
                }
            )
    return result


def draw(rows: Table, folder: Path, png: bool = False) -> None:
    """Discrepancies with intervals, and the published bound."""
    figure, charts = axes(2, 3, height=2.6, sharex=True)
    limit = max(
        [1.35, *(abs(float(str(row["simulation_percent"]))) for row in rows.rows if row["simulation"] is not None)]
    )
    for line, service in zip(charts, SERVICES, strict=True):
        for chart, n in zip(line, (1, 2, 3), strict=True):
            chosen = [row for row in rows.select(service=service, n=n) if row["simulation"] is not None]
            bound = PUBLISHED_PERCENT[n]
            chart.axhspan(-bound, bound, color="#e8e8e8", label="published: largest discrepancy")
            for name, colour, marker in (
                ("simulation", COLOURS[0], "o"),
                ("ciw", COLOURS[1], "s"),
                ("chip", COLOURS[2], "D"),
                ("switch", COLOURS[3], "^"),
            ):
                points = [row for row in chosen if row.get(f"{name}_percent") is not None]
                if not any(row[f"{name}_percent"] is not None for row in rows.rows):
                    continue
                chart.errorbar(
                    [row["delta"] for row in points],
                    [row[f"{name}_percent"] for row in points],
                    [row[f"{name}_half_width"] or 0.0 for row in points],
                    fmt=marker,
                    color=colour,
                    capsize=2,
                    linewidth=1,
                    label=name.replace("ciw", "Ciw"),
                )
            chart.axhline(0, color="black", linewidth=0.8, label="formula")
            chart.set_xscale("log")
            chart.set_ylim(-limit, limit)
            chart.set_title(f"{service} service, N = {n}", fontsize=9)
            chart.set_xlabel("$\\delta$ (service times)")
            chart.set_ylabel("simulation / formula $-$ 1 (%)")
    legend(figure, charts[0][0], 6)
    finish(
        figure, folder, "waits", "Mean wait at $\\mu_N^*(\\delta)$: discrepancy from the formula, 95 % intervals", png
    )


def draw_measured(rows: Table, folder: Path, png: bool = False) -> None:
    """Waits over load: formula as a line, what was measured as markers of the same colour, one kind a source."""
    figure, chart = axes()
    sources = list(dict.fromkeys(str(row["source"]) for row in rows.rows))
    for colour, n in zip(COLOURS, sorted({int(str(row["n"])) for row in rows.rows}), strict=False):
        for index, source in enumerate(sources):
            chosen = sorted(rows.select(n=n, source=source), key=lambda row: float(str(row["service_rate"])))
            rates = np.array([row["service_rate"] for row in chosen], dtype=float)
            formula, measured = (np.array([row[key] for row in chosen], dtype=float) for key in ("formula", "measured"))
            label = f"N = {n}, formula" if index == 0 else None
            chart.semilogy(1 / (n * rates), formula * rates, color=colour, label=label)
            chart.semilogy(1 / (n * rates), measured * rates, "os^"[index], color=colour)
    for marker, source in zip("os^", sources, strict=False):
        chart.plot([], [], marker, color="black", label=source)
    chart.set_xlabel("load of the second switch, $\\lambda / (N \\mu_N)$")
    chart.set_ylabel("mean wait (service times)")
    legend(figure, chart)
    finish(figure, folder, "measured", "Mean wait of N-packets before a fixed service: formula and measurement", png)


def _row(service: Service, n: int, delta: float, effort: Effort, cache: Cache) -> Row:
    rate = float(minimal_service_rate(n, 1.0, delta, service))
    expected = formula(n, 1.0, rate, service)
    key = f"{effort.name} {service} n={n} delta={delta}"
    # The paper's bounds are for N = 1, 2, 3; others show that nothing changes there.
    half_width = effort.half_width if n <= 3 else max(effort.half_width, 0.003)
    own = cache.estimate(
        key,
        lambda: simulate_waiting_time(
            n, 1.0, rate, service, effort.waits, _seed(service, n, delta), half_width, effort.controlled
        ),
    )
    row: Row = {
        "service": service,
        "n": n,
        "delta": delta,
        "service_rate": rate,
        "published_percent": PUBLISHED_PERCENT.get(n),
        "formula": expected,
    }
    row |= _columns("simulation", own, expected)
    row["simulation_packets"] = own.packets if own else None
    row["rate_percent"] = _rate_discrepancy(n, delta, service, own.mean * rate) if own else None
    return row


def _seed(service: Service, n: int, delta: float) -> int:
    return 1 + 100 * n + DELTAS.index(delta) + 1000 * SERVICES.index(service)


def _ciw(service: Service, n: int, delta: float, rate: float, effort: Effort, cache: Cache) -> Row:
    estimate = None
    if effort.ciw and n <= 3 and delta in _CIW_DELTAS:
        key = f"ciw {effort.name} {service} n={n} delta={delta}"
        estimate = cache.estimate(
            key, lambda: simulate_waiting_time_ciw(n, 1.0, rate, service, effort.ciw, _seed(service, n, delta))
        )
    return _columns("ciw", estimate, formula(n, 1.0, rate, service))


def _columns(name: str, estimate: Estimate | None, expected: float) -> Row:
    if estimate is None:
        return {name: None, f"{name}_half_width": None, f"{name}_percent": None}
    return {
        name: estimate.mean,
        f"{name}_half_width": 100 * estimate.relative_half_width,
        f"{name}_percent": 100 * estimate.discrepancy(expected),
    }


def _rate_discrepancy(n: int, delta: float, service: Service, simulated: float) -> Cell:
    there = float(minimal_service_rate(n, 1.0, simulated, service))
    return 100 * (there / float(minimal_service_rate(n, 1.0, delta, service)) - 1)


def _half_width_percent(wait: MeasuredWait) -> float | None:
    if wait.half_width is None or wait.mean_wait == 0:
        return None
    return 100 * wait.half_width / wait.mean_wait


def _outside(name: str, waits: list[MeasuredWait], n: int, rate: float, service: str) -> Row:
    for wait in waits:
        ratio = wait.service_rate / wait.message_rate / rate
        if (wait.n, wait.service) == (n, service) and abs(ratio - 1) < 1e-3:
            expected = formula(n, wait.message_rate, wait.service_rate, service)
            return {
                name: wait.mean_wait * wait.message_rate,
                f"{name}_half_width": _half_width_percent(wait),
                f"{name}_percent": 100 * (wait.mean_wait / expected - 1),
            }
    return {name: None, f"{name}_half_width": None, f"{name}_percent": None}
