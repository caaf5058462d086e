"""Figure 12: goodput when SDN controllers do the work, beside the software switch in the same run. Measurements come from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .._loss import accepted_rate
from .._measured import GoodputCurve
from ._chart import axes, finish, legend, shade
from ._table import Table
from .figure_9 import LINE_RATE_MPPS, at

__all__ = ["draw", "table"]


def table(curves: dict[int, GoodputCurve], switch: dict[int, GoodputCurve]) -> Table:
    """A row for each measured point; `arrival_rate` in Mpps of messages, goodput in Gbps of payload."""
    result = Table(
        "figure-12",
        "Goodput of aggregation and disaggregation by SDN controllers",
        "arrival_mpps: messages; controllers: Gbps of payload; switch: the software switch, at the same rate in the same run; "
        "switch_formula: G/D/1/1 switch of 100 Gbps (Figure 9); gap: switch_formula over controllers; ratio_to_n_1: controllers, over those with N = 1 at the same rate.",
    )
    for n, curve in curves.items():
        single = curves[1].at(curve.arrival_rate) if 1 in curves else np.full(curve.goodput.shape, np.nan)
        for rate, goodput, base in zip(curve.arrival_rate, curve.goodput, single, strict=True):
            formula = 0.128 * n * float(accepted_rate(n, rate, n / LINE_RATE_MPPS))
            result.rows.append(
                {
                    "n": n,
                    "arrival_mpps": float(rate),
                    "controllers": float(goodput),
                    "switch": at(switch, n, float(rate)),
                    "switch_formula": formula,
                    "gap": formula / float(goodput) if goodput else None,
                    "ratio_to_n_1": None if np.isnan(base) or base == 0 else float(goodput / base),
                }
            )
    return result


def draw(rows: Table, folder: Path, png: bool = False) -> None:
    """Goodput over arrivals. The switches of all N take what arrives at these rates, so their formula is one line."""
    figure, chart = axes(height=4.2)  # room for a legend of 17 lines
    orders = sorted({int(str(row["n"])) for row in rows.rows})
    for index, n in enumerate(orders):
        chosen = rows.select(n=n)
        arrival = [row["arrival_mpps"] for row in chosen]
        chart.loglog(
            arrival,
            [row["controllers"] for row in chosen],
            "o-",
            linewidth=0.6,
            color=shade(index, len(orders)),
            label=f"N = {n}, controllers",
        )
        if any(row["switch"] is not None for row in chosen):
            chart.loglog(
                arrival,
                [row["switch"] for row in chosen],
                "s-",
                linewidth=0.6,
                color=shade(index, len(orders)),
                markersize=8 - index / 2,
                fillstyle="none",
                label=f"N = {n}, software switch",
            )
    arrivals = sorted((float(str(row["arrival_mpps"])), float(str(row["switch_formula"]))) for row in rows.rows)
    chart.loglog(*zip(*arrivals, strict=True), "--", color="black", linewidth=0.8, label="100-Gbps switch, formula")
    chart.set_xlabel("arrival rate of messages (Mpps)")
    chart.set_ylabel("goodput (Gbps of payload)")
    legend(figure, chart)
    finish(figure, folder, "figure-12", "Figure 12: SDN controllers beside the switch", png)
