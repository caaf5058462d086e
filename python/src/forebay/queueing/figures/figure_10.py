"""Figure 10: mu_N*(delta), (11) to (16), in all readings of the constraint."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .._minimal_rate import CONSTRAINTS, SERVICES, minimal_service_rate, share_of_fall
from ._chart import COLOURS, axes, finish, legend, shade
from ._table import Table
from .waits import DELTAS

__all__ = ["draw", "draw_readings", "fall", "table"]


def table(waits: Table) -> Table:
    """A row for each service, N = 1 ... 8 and delta."""
    result = Table(
        "figure-10",
        "mu_N*(delta) / lambda, the smallest service rate in N-packets for each message that comes",
        "reading_service: E[t_W] <= delta / mu_N, the printed (12) to (16); reading_message: <= delta / lambda; reading_packet: "
        "<= delta N / lambda; simulation: mu_N* for the delta that was simulated at the formula's rate. The paper "
        "shows Figure 10 without figures; published: its (14) for N = 1.",
    )
    for service in SERVICES:
        for n in range(1, 9):
            for delta in DELTAS:
                values = {
                    f"reading_{reading}": float(minimal_service_rate(n, 1.0, delta, service, reading))
                    for reading in CONSTRAINTS
                }
                simulated = waits.select(service=service, n=n, delta=delta)
                percent = simulated[0]["rate_percent"] if simulated else None
                result.rows.append(
                    {
                        "service": service,
                        "n": n,
                        "delta": delta,
                        "published": _equation_14(service, delta) if n == 1 else None,
                        **values,
                        "simulation": None
                        if percent is None
                        else values["reading_service"] * (1 + float(str(percent)) / 100),
                    }
                )
    return result


def fall() -> Table:
    """How much of the fall of mu_N* from delta = 0.01 to 1 is done at each delta."""
    result = Table(
        "figure-10-fall",
        "Share of the fall of mu_N*(delta) between delta = 0.01 and 1, and what doubling delta saves",
        "done_*: at this delta; doubling_saves_*: 1 - mu_N*(2 delta) / mu_N*(delta).",
    )
    for service in SERVICES:
        for n in range(1, 9):
            for delta in (0.02, 0.05, 0.1, 0.2, 0.5):
                here, twice = (float(minimal_service_rate(n, 1.0, d, service)) for d in (delta, 2 * delta))
                result.rows.append(
                    {
                        "service": service,
                        "n": n,
                        "delta": delta,
                        "done": share_of_fall(n, delta, service),
                        "doubling_saves": 1 - twice / here,
                    }
                )
    return result


def draw(rows: Table, folder: Path, png: bool = False) -> None:
    """On a linear axis as in the paper, and on a logarithmic one."""
    figure, charts = axes(2, 2, height=3.0)
    delta = np.geomspace(0.01, 1, 80)
    for line, scale in zip(charts, ("linear", "log"), strict=True):
        for chart, service in zip(line, SERVICES, strict=True):
            for n in range(1, 9):
                colour = shade(n - 1, 8)
                chart.plot(delta, minimal_service_rate(n, 1.0, delta, service), color=colour, label=f"N = {n}, formula")
                points = [row for row in rows.select(service=service, n=n) if row["simulation"] is not None]
                chart.plot([row["delta"] for row in points], [row["simulation"] for row in points], "o", color=colour)
            chart.plot([], [], "o", color="black", label="simulation")
            chart.set_title(f"{service} service, {scale} axes", fontsize=9)
            chart.set_xlabel("$\\delta$ (service times)")
            chart.set_ylabel("$\\mu_N^*(\\delta) / \\lambda$")
            if scale == "log":
                chart.set_xscale("log")
                chart.set_yscale("log")
    legend(figure, charts[0][0])
    finish(figure, folder, "figure-10", "Figure 10: smallest service rate of the second switch", png)


def draw_readings(rows: Table, folder: Path, png: bool = False) -> None:
    """The three readings of the constraint."""
    figure, charts = axes(1, 2)
    for chart, service in zip(charts, SERVICES, strict=True):
        for colour, n in zip(COLOURS, (1, 2, 8), strict=False):
            for style, reading in zip(("-", "--", ":"), CONSTRAINTS, strict=True):
                if n == 1 and reading == "packet":
                    continue
                chosen = rows.select(service=service, n=n)
                unit = {"service": "\\delta/\\mu_N", "message": "\\delta/\\lambda", "packet": "\\delta N/\\lambda"}[
                    reading
                ]
                chart.loglog(
                    [row["delta"] for row in chosen],
                    [row[f"reading_{reading}"] for row in chosen],
                    style,
                    color=colour,
                    label=f"N = {n}, $E[t_W] \\leq {unit}$",
                )
        chart.set_title(f"{service} service", fontsize=9)
        chart.set_xlabel("$\\delta$")
        chart.set_ylabel("$\\mu_N^*(\\delta) / \\lambda$")
    legend(figure, charts[0])
    finish(figure, folder, "figure-10-readings", "Three readings of the constraint (11)", png)


def _equation_14(service: str, delta: float) -> float:
    return (1 + delta) / delta if service == "exponential" else (2 * delta + 1) / (2 * delta)
