"""Figure 9: goodput of the second switch over the arrival rate; (5): the time that disaggregation takes.

The second switch is G/D/1/1, with 100-Gbps ports: mu_1 is the line rate in messages of 64 bytes. Delta_N = 1 is assumed:
an N-packet takes as long as N messages.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .._buffer import loss_with_buffer
from .._goodput import FRAMING_BYTES, PAYLOAD_BYTES, packet_bytes
from .._loss import (
    accepted_rate,
    disaggregation_ratio,
    empirical_renewal_function,
    erlang_renewal_function,
    service_time_from_rates,
)
from .._measured import GoodputCurve
from ._chart import COLOURS, axes, finish, shade
from ._effort import Effort
from ._table import Cell, Table

__all__ = ["ARRIVALS", "LINE_RATE_MPPS", "PAYLOAD_GBPS", "at", "draw", "inversion", "ratios", "table"]

LINE_GBPS = 100.0
LINE_RATE_MPPS = LINE_GBPS * 1e3 / (8 * packet_bytes(1, framing_bytes=FRAMING_BYTES))
"""Messages a second, in millions, that fill a port: mu_1."""

PAYLOAD_GBPS = 8 * PAYLOAD_BYTES / 1e3
ARRIVALS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)

# Table 3 (resubmission) and Table 4 (multicast) of Wang et al., JNCA 142, 2019, S = 22: Gbps of N-packets on the wire, the
# same authors' switch; and Table 2, what the output port allows.
_LOSS_FREE_GBPS = {
    "resubmission": {1: 100.0, 2: 32.0, 4: 21.0, 8: 11.0},
    "multicast": {1: 100.0, 2: 59.0, 4: 33.0, 8: 14.0},
    "output port": {1: 100.0, 2: 59.0, 4: 38.0, 8: 28.0},
}
_EXPERIMENTS = {"resubmission": "table-3", "multicast": "table-4"}


def table(effort: Effort, chip: dict[int, GoodputCurve]) -> Table:
    """A row for each N = 1 ... 8 and arrival rate."""
    result = Table(
        "figure-9",
        "Goodput of the second switch without a buffer, G/D/1/1",
        "arrival_mpps: messages; load: over mu_1, the line rate; goodput in Gbps of payload. formula: Poisson messages, "
        "(lambda / N) / (1 + m(D)) N-packets, Delta_N = 1; simulation: the same by simulation; constant: a tester that sends at "
        "a constant rate, which loses nothing below mu_1; one_place: formula for Poisson messages and a port with room for one "
        "N-packet that waits; chip: the timed model with such a port. The software switch is in figure-12: its rates are others. The paper shows its curves as a picture without figures.",
    )
    for n in range(1, 9):
        for load in ARRIVALS:
            rate = load * LINE_RATE_MPPS
            formula = n * PAYLOAD_GBPS * float(accepted_rate(n, rate, n / LINE_RATE_MPPS))
            result.rows.append(
                {
                    "n": n,
                    "load": load,
                    "arrival_mpps": rate,
                    "published": None,
                    "formula": formula,
                    "simulation": n * PAYLOAD_GBPS * _simulate(n, rate, n / LINE_RATE_MPPS, effort.loss),
                    "constant": _constant(load),
                    "one_place": n
                    * PAYLOAD_GBPS
                    * (rate / n)
                    * (1 - loss_with_buffer(n, rate, LINE_RATE_MPPS / n, 1, "fixed")),
                    "chip": at(chip, n, rate),
                }
            )
    return result


def ratios(repository: Path | None) -> Table:
    """Delta_N of the measured switch (the first paper's tables), and of the chip model when the repository is there."""
    result = Table(
        "equation-5",
        "Delta_N: time to disaggregate an N-packet over the time of N messages",
        "published_low, published_high: the range that the paper gives; measured: mu_1 / (N mu_N) from the loss-free rates "
        "of the same authors' switch (Gbps of N-packets on the wire, S = 22); chip: from the timed model's tables 3 and 4.",
    )
    for method, rates in _LOSS_FREE_GBPS.items():
        model = _model_rates(repository, method)
        for n, gbps in rates.items():
            result.rows.append(
                {
                    "method": method,
                    "n": n,
                    "published_low": 0.85,
                    "published_high": 1.14,
                    "measured_gbps": gbps,
                    "measured": _ratio(n, gbps),
                    "chip_gbps": model.get(n),
                    "chip": _ratio(n, model[n]) if n in model else None,
                }
            )
    return result


def inversion(effort: Effort) -> Table:
    """Service times found from loss: a G/D/1/1 switch is simulated, and D computed from its arrivals and loss alone."""
    result = Table(
        "equation-5-inversion",
        "Service time of G/D/1/1 from measured arrival and accepted rates",
        "load: N-packets that come in a service time; true: D used in the simulation; by_formula: m of Erlang-N input; "
        "by_sample: m of the measured inter-arrival times, any renewal input.",
    )
    for n in (1, 2, 4, 8):
        for load in (0.5, 1.0, 2.0):
            random = np.random.Generator(np.random.SFC64(n))
            gaps = random.standard_gamma(n, effort.loss) / (load * n)
            accepted = _accepted(np.cumsum(gaps), 1.0) / float(gaps.sum())
            arrival = 1 / float(gaps.mean())
            erlang = service_time_from_rates(arrival, accepted, _erlang(n, arrival * n))
            sampled = service_time_from_rates(arrival, accepted, empirical_renewal_function(gaps[:50_000]))
            result.rows.append({"n": n, "load": load, "true": 1.0, "by_formula": erlang, "by_sample": sampled})
    return result


def draw(rows: Table, delta: Table, folder: Path, png: bool = False) -> None:
    """Goodput over arrivals, and Delta_N over N."""
    figure, (left, right) = axes(1, 2, height=4.4)
    for n in range(1, 9):
        chosen = rows.select(n=n)
        arrival = [row["arrival_mpps"] for row in chosen]
        left.plot(arrival, [row["formula"] for row in chosen], color=shade(n - 1, 8), label=f"N = {n}, formula")
        left.plot(arrival, [row["simulation"] for row in chosen], "x", color=shade(n - 1, 8))
        if any(row["chip"] is not None for row in chosen):
            left.plot(arrival, [row["one_place"] for row in chosen], ":", color=shade(n - 1, 8), linewidth=0.8)
            left.plot(arrival, [row["chip"] for row in chosen], "s", color=shade(n - 1, 8), markersize=3)
    left.plot([], [], "x", color="black", label="simulation")
    if any(row["chip"] is not None for row in rows.rows):
        left.plot([], [], ":", color="black", linewidth=0.8, label="one place, formula")
        left.plot([], [], "s", color="black", markersize=3, label="one place, chip")
    loads = np.linspace(0.01, 3, 600)
    left.plot(
        loads * LINE_RATE_MPPS,
        [_constant(load) for load in loads],
        color="#999999",
        linewidth=0.8,
        label="constant rate, any N",
    )
    left.set_xlabel("arrival rate of messages (Mpps)")
    left.set_ylabel("goodput (Gbps of payload)")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=3, fontsize=8)
    right.axhspan(0.85, 1.14, color="#dddddd", label="published range of $\\Delta_N$")
    for colour, method in zip(COLOURS, _LOSS_FREE_GBPS, strict=False):
        chosen = delta.select(method=method)
        n_values = [row["n"] for row in chosen]
        right.plot(n_values, [row["measured"] for row in chosen], "o", color=colour, label=f"{method}, published rates")
        if chosen[0]["chip"] is not None:
            right.plot(n_values, [row["chip"] for row in chosen], color=colour, label=f"{method}, chip model")
    right.set_xlabel("messages in an N-packet, N")
    right.set_ylabel("$\\Delta_N = \\mu_1 / (N \\mu_N)$")
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2, fontsize=8)
    finish(figure, folder, "figure-9", "Figure 9 and (5): a second switch without a buffer", png)


def _simulate(n: int, rate: float, duration: float, packets: int) -> float:
    random = np.random.Generator(np.random.SFC64(1))
    times = np.cumsum(random.standard_gamma(n, packets) / rate)
    return _accepted(times, duration) / float(times[-1])


def _accepted(times: np.ndarray[tuple[int], np.dtype[np.float64]], duration: float) -> int:
    """How many find the server free: each accepted one skips to the first that comes `duration` later."""
    following = np.searchsorted(times, times + duration, side="left").tolist()
    taken, index = 0, 0
    while index < len(following):
        taken, index = taken + 1, following[index]
    return taken


def _erlang(n: int, message_rate: float) -> Callable[[float], float]:
    return lambda time: float(erlang_renewal_function(n, message_rate, time))


def _constant(load: float) -> float:
    """D/D/1/1: of N-packets that come each 1 / load service times, one is taken in the first multiple that is not shorter."""
    gap = 1 / load
    taken_every = gap * np.ceil(1 / gap - 1e-12) if gap < 1 else gap
    return float(PAYLOAD_GBPS * LINE_RATE_MPPS / taken_every)


def _ratio(n: int, gbps: float) -> float:
    rate = gbps * 1e3 / (8 * packet_bytes(n, framing_bytes=FRAMING_BYTES))
    return float(disaggregation_ratio(n, LINE_RATE_MPPS, rate))


def _model_rates(repository: Path | None, method: str) -> dict[int, float]:
    if repository is None or method not in _EXPERIMENTS:
        return {}
    file = repository / "experiments" / _EXPERIMENTS[method] / "result.json"
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    found = [row for row in rows if row["parameters"].get("S") == "22" and row["model"] is not None]
    return {int(row["parameters"]["N"]): float(row["model"]) for row in found}


def at(curves: dict[int, GoodputCurve], n: int, rate: float) -> Cell:
    if n not in curves:
        return None
    # The last digits of a file may put a measured point outside.
    value = float(curves[n].at(float(np.clip(rate, *_ends(curves[n], rate)))))
    return None if np.isnan(value) else value


def _ends(curve: GoodputCurve, rate: float) -> tuple[float, float]:
    """The measured range, as far as `rate` is not outside of it by more than a millionth."""
    first, last = float(curve.arrival_rate[0]), float(curve.arrival_rate[-1])
    return (first, last) if first * (1 - 1e-6) <= rate <= last * (1 + 1e-6) else (rate, rate)
