"""How large a buffer the second switch needs: the paper's section 4, "a buffer of about one packet"."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .._buffer import loss_with_buffer, places_for_loss, waiting_distribution
from .._minimal_rate import SERVICES, Service, minimal_service_rate
from .._simulate import simulate_loss
from ._chart import COLOURS, axes, finish, legend
from ._effort import Effort
from ._table import Row, Table

__all__ = ["draw", "loss", "table"]

_PLACES = (0, 1, 2, 3, 4, 8)


def table() -> Table:
    """What waits at mu_N*(delta) in an unlimited buffer, and what a limited one loses."""
    result = Table(
        "buffers",
        "N-packets that wait at mu_N*(delta), and loss with few waiting places",
        "load: lambda / (N mu_N); waiting_mean: N-packets (Little: load times delta); more_than_K: probability that more than K "
        "wait; loss_K: share lost with K waiting places; places_1e_6: fewest places that lose at most one in a million.",
    )
    for service in SERVICES:
        for n in (1, 2, 4, 8):
            for delta in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
                rate = float(minimal_service_rate(n, 1.0, delta, service))
                waiting = waiting_distribution(n, 1.0, rate, service)
                tail = np.append(1 - np.cumsum(waiting), np.zeros(3))
                losses = {f"loss_{places}": loss_with_buffer(n, 1.0, rate, places, service) for places in (0, 1, 2)}
                result.rows.append(
                    {
                        "service": service,
                        "n": n,
                        "delta": delta,
                        "service_rate": rate,
                        "load": 1 / (n * rate),
                        "waiting_mean": float(np.arange(waiting.size) @ waiting),
                        "more_than_0": max(0.0, float(tail[0])),
                        "more_than_1": max(0.0, float(tail[1])),
                        "more_than_2": max(0.0, float(tail[2])),
                        **losses,
                        "places_1e_6": places_for_loss(n, 1.0, rate, 1e-6, service),
                    }
                )
    return result


def loss(effort: Effort) -> Table:
    """Loss over waiting places at fixed loads."""
    result = Table(
        "buffer-loss",
        "Share of N-packets lost over the number of waiting places",
        "load: lambda / (N mu_N). formula: exact, a chain at the beginnings of service; simulation_half_width: of the 95 % interval.",
    )
    for service in SERVICES:
        for n in (1, 2, 4, 8):
            for load in (0.5, 0.8, 0.95, 1.0):
                for places in _PLACES:
                    share = loss_with_buffer(n, 1.0, 1 / (n * load), places, service)
                    row: Row = {"service": service, "n": n, "load": load, "places": places, "formula": share}
                    result.rows.append(row | _simulated(service, n, load, places, effort.loss))
    return result


def _simulated(service: Service, n: int, load: float, places: int, packets: int) -> Row:
    """Where the loss is so large that a sample shows it: load 0.8, up to two places."""
    if load != 0.8 or places > 2:
        return {"simulation": None, "simulation_half_width": None}
    estimate = simulate_loss(n, 1.0, 1 / (n * load), places, service, packets)
    return {"simulation": estimate.mean, "simulation_half_width": estimate.half_width}


def draw(rows: Table, folder: Path, png: bool = False) -> None:
    """Loss over places for fixed service at two loads."""
    figure, charts = axes(1, 2, sharey=True)
    for chart, load in zip(charts, (0.8, 0.95), strict=True):
        for colour, n in zip(COLOURS, (1, 2, 4, 8), strict=False):
            for service, style in zip(SERVICES, ("--", "-"), strict=True):
                chosen = [
                    row for row in rows.select(service=service, n=n, load=load) if float(str(row["formula"])) > 1e-13
                ]
                chart.semilogy(
                    [row["places"] for row in chosen],
                    [row["formula"] for row in chosen],
                    style,
                    color=colour,
                    label=f"N = {n}, {service} service, formula",
                )
                points = [row for row in chosen if row["simulation"] is not None]
                chart.semilogy(
                    [row["places"] for row in points], [row["simulation"] for row in points], "o", color=colour
                )
        chart.plot([], [], "o", color="black", label="simulation")
        chart.set_title(f"load {load}", fontsize=9)
        chart.set_xlabel("waiting places (N-packets)")
        chart.set_ylabel("share of N-packets lost")
    legend(figure, charts[0])
    finish(figure, folder, "buffers", "What a buffer of a few N-packets saves", png)
