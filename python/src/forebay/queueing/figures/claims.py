"""Every equation, figure and claim of the paper, and whether it holds, from the tables of the other modules."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .._e_n_m_1 import e_n_m_1_waiting_time
from .._minimal_rate import minimal_service_rate
from ._claim import HOLDS, NOT, OPEN, PARTLY, Tables, claim, number
from ._table import Row, Table
from .claims_network import controllers, line_rate, network

__all__ = ["Tables", "table", "write_markdown"]


def table(tables: Tables) -> Table:
    """A row for each claim."""
    result = Table(
        "claims",
        "The paper's equations, figures and claims",
        "verdict: holds; partly; does not hold; not compared. found: with 95 % intervals where it is simulated.",
    )
    for part in (
        _arrivals,
        _payload,
        line_rate,
        _second_switch_loss,
        _waits,
        _rates,
        _buffers,
        controllers,
        network,
    ):
        result.rows.extend(part(tables))
    return result


def write_markdown(rows: Table, file: Path) -> None:
    """The claims as a table of Markdown."""
    lines = ["| where | the paper says | found | verdict | data |", "|---|---|---|---|---|"]
    for row in rows.rows:
        lines.append(
            "| "
            + " | ".join(
                str(row[key]).replace("|", "\\|") for key in ("where", "published", "found", "verdict", "data")
            )
            + " |"
        )
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _arrivals(tables: Tables) -> list[Row]:
    few, many = (number(tables["superposition"].select(devices=k)[0], "formula") for k in (10, 100))
    rows = tables["figure-7"].rows
    after = {str(row["panel"]): row for row in rows if row["grouping"] == "service after grouping"}
    before = {str(row["panel"]): row for row in rows if row["grouping"] == "service before grouping"}
    simulated = {panel: number(row, "simulation") for panel, row in after.items()}
    noise = number(after["a"], "noise")
    burke = max(number(before[panel], "simulation") for panel in "abc")
    erlang = claim(
        "(1)",
        "N-packets arrive at the second switch as Erlang-N",
        f"exact for N Poisson messages, and for exponential service of single messages (KS at most {burke:.4f}, noise {noise:.4f})",
        HOLDS if burke < 1.2 * noise else NOT,
        "figure-7",
    )
    panels = [
        claim(
            "Figure 7 (a)",
            "exponential, mu = 1.1 lambda, N = 5 fits",
            f"KS {simulated['a']:.4f}, exact {number(after['a'], 'formula'):.4f}: near, but no Erlang-5 (noise {noise:.4f})",
            PARTLY,
            "figure-7",
        )
    ]
    for panel, what in (("b", "N = 8"), ("c", "mu = 2.2 lambda"), ("d", "fixed service")):
        single = number(before[panel], "simulation")
        good = simulated[panel] < simulated["a"]
        opposite = single > 2 * noise
        panels.append(
            claim(
                f"Figure 7 ({panel})",
                f"{what} fits better than (a)",
                f"service after grouping: KS {simulated[panel]:.4f}, exact {number(after[panel], 'formula'):.4f}; "
                f"before grouping: {single:.4f}{', the opposite' if opposite else ', as (a)'}",
                (PARTLY if opposite else HOLDS) if good else NOT,
                "figure-7",
            )
        )
    panels.extend(_measured_departures(tables["figure-7"]))
    poisson = claim(
        "section 3",
        "messages of K devices of any kind together are Poisson",
        f"strictly periodic devices: KS {few:.3f} for K = 10, {many:.4f} for K = 100",
        HOLDS,
        "superposition",
    )
    return [poisson, erlang, *panels]


def _measured_departures(rows: Table) -> list[Row]:
    """Figure 7 (d) on the timed chip: fixed service, before and after grouping."""
    measured = [row for row in rows.rows if row["chip"] is not None and row["formula"] is not None]
    if not measured:
        return []
    # The distance of a sample is larger than that of its distribution, by at most the noise in 95 % of all cases.
    inside = [row for row in measured if abs(number(row, "chip") - number(row, "formula")) <= number(row, "chip_noise")]
    found = "; ".join(
        f"N = {row['n']}: KS {number(row, 'chip'):.4f}, exact {number(row, 'formula'):.4f}" for row in measured
    )
    before = [row for row in rows.rows if row["chip"] is not None and row["formula"] is None]
    apart = "; ".join(
        f"N = {row['n']}: {number(row, 'chip'):.4f}, simulation {number(row, 'simulation'):.4f}" for row in before
    )
    return [
        claim(
            "Figure 7 (d)",
            "fixed service, on the timed chip with N = 5 and 8",
            f"service after grouping: {found} (noise {number(measured[0], 'chip_noise'):.4f}); before grouping: {apart}",
            HOLDS if len(inside) == len(measured) else PARTLY,
            "figure-7",
        )
    ]


def _payload(tables: Tables) -> list[Row]:
    one, eight = (tables["payload"].select(n=n)[0] for n in (1, 8))
    return [
        claim(
            "(2)",
            "S_N = 48 + 16 N bytes: 64 for a message",
            f"{one['bytes_formula']:g} and {eight['bytes_formula']:g} bytes; on the wire 24 more",
            HOLDS,
            "payload",
        ),
        claim(
            "(3)",
            "p_N = 16 N / (48 + 16 N) = N / (N + 3)",
            f"1/4 for N = 1, 8/11 for N = 8; on the wire {number(one, 'wire_ratio_formula'):.3f} and "
            f"{number(eight, 'wire_ratio_formula'):.3f}",
            HOLDS,
            "payload",
        ),
        claim(
            "(4)",
            "X_N = p_N X: 190.54 % more for N = 8 than for N = 1",
            f"{number(eight, 'gain_percent_formula'):.2f} % by (3); "
            f"{number(eight, 'wire_gain_percent_formula'):.2f} % on the wire",
            NOT,
            "payload",
        ),
    ]


def _second_switch_loss(tables: Tables) -> list[Row]:
    rows = tables["figure-9"]
    worst = max(abs(number(row, "simulation") / number(row, "formula") - 1) for row in rows.rows)
    line, top = ({n: number(rows.select(n=n, load=load)[0], "formula") for n in (1, 8)} for load in (1.0, 3.0))
    delta = tables["equation-5"]
    spread = {
        method: number(delta.select(method=method, n=8)[0], "measured")
        for method in ("resubmission", "multicast", "output port")
    }
    inversion = tables["equation-5-inversion"].rows
    on_chip = [row for row in rows.rows if row["chip"] is not None]
    chip = max((abs(number(row, "chip") / number(row, "one_place") - 1) for row in on_chip), default=0.0)
    beside = f"; the timed chip, with one place, within {100 * chip:.2f} % of its formula" if on_chip else ""
    error = max(
        abs(number(row, key) / number(row, "true") - 1) for row in inversion for key in ("by_formula", "by_sample")
    )
    return [
        claim(
            "Figure 9",
            "goodput increases with N",
            f"Poisson messages at the line rate: {line[1]:.1f} Gbps for N = 1, {line[8]:.1f} for N = 8, by regular arrivals alone; "
            "a tester with a constant rate loses nothing below the line rate, whatever N. "
            f"Simulation within {100 * worst:.2f} %{beside}",
            PARTLY,
            "figure-9",
        ),
        claim(
            "Figure 9",
            "goodput saturates, the sooner the larger N",
            f"at the line rate {100 * line[1] / (0.128 * 142.045):.0f} % of the limit for N = 1, "
            f"{100 * line[8] / (0.128 * 142.045):.0f} % for N = 8; at three times the line rate "
            f"{100 * top[1] / (0.128 * 142.045):.0f} and {100 * top[8] / (0.128 * 142.045):.0f} %",
            HOLDS,
            "figure-9",
        ),
        claim(
            "(5)",
            "N mu_N = mu_1 / Delta_N with Delta_N from 0.85 to 1.14",
            f"1 by the output port's rate ({spread['output port']:.2f}); but the same authors' loss-free rates give, "
            f"for N = 8, {spread['multicast']:.2f} (multicast) and {spread['resubmission']:.2f} (resubmission)",
            NOT,
            "equation-5",
        ),
        claim(
            "(5)",
            "D is found from arrivals and loss by G/D/1/1",
            f"m(D) / (1 + m(D)) is exact for renewal input; D from simulated loss within {100 * error:.2f} %",
            HOLDS,
            "equation-5-inversion",
        ),
    ]


def _waits(tables: Tables) -> list[Row]:
    worst_root = max(abs(number(row, "difference")) for row in tables["roots"].rows)
    result = [
        claim(
            "(7) to (10)",
            "the root x, closed for N = 1, 2, 3",
            f"closed forms and numerical root agree within {worst_root:.0e}",
            HOLDS,
            "roots",
        ),
        claim(
            "after (10)",
            "no closed form for N > 3",
            "N = 4 has one: with u = x^(1/N) the equation has degree N, and quartics are solvable (Ferrari). True from N = 5 on",
            NOT,
            "roots",
        ),
    ]
    for where, orders, bound in (("(6), (14)", (1,), 0.4), ("(6), (15), (16)", (2, 3), 0.9)):
        for service in ("exponential", "fixed"):
            rows = [
                row
                for n in orders
                for row in tables["waits"].select(service=service, n=n)
                if row["simulation"] is not None
            ]
            result.append(_discrepancy(where, service, orders, bound, rows))
    result.extend(_ciw(tables["waits"]))
    return [*result, *_measured(tables)]


def _discrepancy(where: str, service: str, orders: tuple[int, ...], bound: float, rows: list[Row]) -> Row:
    names = " and ".join(map(str, orders))
    published = f"simulation within {bound} % of the formula, N = {names}"
    if not rows:
        return claim(where, published, "not simulated", OPEN, "waits")
    wait = max(abs(number(row, "simulation_percent")) for row in rows)
    half = max(number(row, "simulation_half_width") for row in rows)
    rate = max(abs(number(row, "rate_percent")) for row in rows)
    inside = sum(abs(number(row, "simulation_percent")) <= number(row, "simulation_half_width") for row in rows)
    return claim(
        where,
        published,
        f"{service}: mean wait within {wait:.3f} %, mu_N* within {rate:.3f} % at {len(rows)} points; 95 % intervals at most "
        f"+-{half:.3f} %, {inside} of {len(rows)} contain the formula",
        HOLDS if wait <= bound else OPEN if half > bound else NOT,
        "waits",
    )


def _ciw(waits: Table) -> list[Row]:
    rows = [row for row in waits.rows if row["ciw"] is not None]
    if not rows:
        return []
    worst = max(rows, key=lambda row: abs(number(row, "ciw_percent")))
    inside = sum(abs(number(row, "ciw_percent")) <= number(row, "ciw_half_width") for row in rows)
    return [
        claim(
            "(6), (14) to (16)",
            "the same, by a simulator of others (Ciw)",
            f"within {abs(number(worst, 'ciw_percent')):.2f} % (interval +-{number(worst, 'ciw_half_width'):.2f} %); {inside} of "
            f"{len(rows)} intervals contain the formula",
            HOLDS if inside >= 0.8 * len(rows) else NOT,
            "waits",
        )
    ]


def _measured(tables: Tables) -> list[Row]:
    if "measured" not in tables:
        return [claim("section 4", "the switch is E_N/D/1", "neither chip nor switch was given", OPEN, "")]
    result = []
    for source in dict.fromkeys(str(row["source"]) for row in tables["measured"].rows):
        rows = tables["measured"].select(source=source)
        worst = max(rows, key=lambda row: abs(number(row, "discrepancy_percent")))
        half = worst["half_width_percent"]
        interval = "" if half is None else f" (interval +-{half:.2f} %)"
        inside = [
            row
            for row in rows
            if row["half_width_percent"] is not None
            and abs(number(row, "discrepancy_percent")) <= number(row, "half_width_percent")
        ]
        result.append(
            claim(
                "section 4",
                "the second switch is E_N/D/1",
                f"{source}: mean wait within {abs(number(worst, 'discrepancy_percent')):.2f} %{interval} at {len(rows)} points; "
                f"{len(inside)} intervals contain the formula",
                HOLDS if len(inside) >= 0.8 * len(rows) else PARTLY if inside else NOT,
                "measured",
            )
        )
    return result


def _rates(tables: Tables) -> list[Row]:
    rows = tables["figure-10"]
    exact = max(
        abs(number(row, "reading_service") / number(row, "published") - 1)
        for row in rows.rows
        if row["published"] is not None
    )
    other = number(rows.select(service="exponential", n=1, delta=0.1)[0], "reading_message")
    saved = [
        1 - number(fixed, "reading_service") / number(exponential, "reading_service")
        for fixed, exponential in zip(rows.select(service="fixed"), rows.select(service="exponential"), strict=True)
    ]
    inverse = max(
        abs(float(e_n_m_1_waiting_time(n, 1.0, mu) * mu) / d - 1)
        for n in (1, 2, 3)
        for d in (0.01, 0.1, 1.0)
        for mu in [float(minimal_service_rate(n, 1.0, d))]
    )
    falls = all(_falls(rows, service) for service in ("exponential", "fixed"))
    fall = {n: tables["figure-10-fall"].select(service="exponential", n=n, delta=0.05)[0] for n in (1, 8)}
    fixed = {n: tables["figure-10-fall"].select(service="fixed", n=n, delta=0.05)[0] for n in (1, 8)}
    first = {n: 1 - float(minimal_service_rate(n, 1.0, 0.02) / minimal_service_rate(n, 1.0, 0.01)) for n in (1, 8)}
    return [
        claim(
            "(11)",
            "the mean wait is at most delta over a rate",
            "the printed (12) to (16) follow from delta / mu_N; delta / lambda would give, for N = 1 and delta = 0.1, "
            f"{other:.3f} lambda in place of 11",
            PARTLY,
            "figure-10",
        ),
        claim(
            "(12), (13), (14)",
            "mu_1* = lambda (1 + delta) / delta; (2 delta + 1) / (2 delta) for fixed service",
            f"agree within {max(exact, 1e-16):.0e} with delta / mu_N",
            HOLDS,
            "figure-10",
        ),
        claim(
            "(15), (16)",
            "mu_2* and mu_3*: the smallest rates",
            "one formula for all N, lambda (1 + delta) (((1 + delta) / delta)^(1/N) - 1); put into (6), delta comes back within "
            f"{inverse:.0e}",
            HOLDS,
            "figure-10",
        ),
        claim(
            "after (14)",
            "fixed service needs less than exponential",
            f"by {100 * min(saved):.0f} to {100 * max(saved):.0f} %",
            HOLDS if min(saved) > 0 else NOT,
            "figure-10",
        ),
        claim(
            "Figure 10",
            "mu_N* falls with N and with delta",
            "at all points" if falls else "not at all points",
            HOLDS if falls else NOT,
            "figure-10",
        ),
        claim(
            "section 4",
            "for delta < 0.02 a larger delta saves much",
            f"from 0.01 to 0.02: {100 * first[1]:.0f} % (N = 1), {100 * first[8]:.0f} % (N = 8)",
            HOLDS,
            "figure-10",
        ),
        claim(
            "section 4",
            "for delta > 0.05 a larger buffer gains nothing",
            f"at 0.05 {100 * number(fall[1], 'done'):.0f} % (N = 1) and {100 * number(fall[8], 'done'):.0f} % (N = 8) of the fall "
            "between 0.01 and 1 is done (exponential); 0.1 in place of 0.05 saves "
            f"{100 * number(fall[1], 'doubling_saves'):.0f} and {100 * number(fall[8], 'doubling_saves'):.0f} % "
            f"(fixed: {100 * number(fixed[1], 'doubling_saves'):.0f} and {100 * number(fixed[8], 'doubling_saves'):.0f} %). "
            "It is the look of a linear axis",
            NOT,
            "figure-10-fall",
        ),
    ]


def _falls(rows: Table, service: str) -> bool:
    rates = np.array(
        [[number(row, "reading_service") for row in rows.select(service=service, n=n)] for n in range(1, 9)]
    )
    return bool(np.all(np.diff(rates, axis=0) < 0) and np.all(np.diff(rates, axis=1) < 0))


def _buffers(tables: Tables) -> list[Row]:
    def at(service: str, n: int, delta: float) -> Row:
        return tables["buffers"].select(service=service, n=n, delta=delta)[0]

    one, eight, large = at("fixed", 1, 0.05), at("fixed", 8, 0.05), at("fixed", 8, 1.0)
    worst = max(number(row, "loss_1") for row in tables["buffers"].rows if number(row, "delta") <= 0.05)
    return [
        claim(
            "section 4",
            "a small buffer keeps packets from being dropped",
            f"fixed service at mu_N*(0.05), loss with 0, 1, 2 places: N = 1 {_losses(one)}; N = 8 {_losses(eight)}",
            HOLDS,
            "buffers, buffer-loss",
        ),
        claim(
            "section 4",
            "a buffer of one packet (delta <= 1) is enough",
            f"for delta <= 0.05 one place loses at most {100 * worst:.2g} %; one in a million needs {one['places_1e_6']} places for "
            f"N = 1, {eight['places_1e_6']} for N = 8; at delta = 1 and N = 8 one place loses "
            f"{100 * number(large, 'loss_1'):.1f} %, and {large['places_1e_6']} are needed",
            PARTLY,
            "buffers",
        ),
    ]


def _losses(row: Row) -> str:
    return ", ".join(f"{100 * number(row, f'loss_{places}'):.2g} %" for places in (0, 1, 2))
