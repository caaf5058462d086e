"""What the paper says of the network: line rate, controllers, loss."""

from __future__ import annotations

from ._claim import HOLDS, NOT, OPEN, PARTLY, Tables, claim, number
from ._table import Row

__all__ = ["controllers", "line_rate", "network"]


def line_rate(tables: Tables) -> list[Row]:
    """The aggregating switch."""
    published = "aggregation does not slow down the line rate, for any N"
    if "line-rate" not in tables:
        return [claim("section 3", published, "no experiment was given (--repository DIR)", OPEN, "")]
    rows = tables["line-rate"]
    short = rows.select(flag_and_payload_bytes=22)
    least = min(rows.rows, key=lambda row: number(row, "chip_gbps"))
    rates = {round(number(row, "chip_gbps"), 1) for row in short}
    return [
        claim(
            "section 3",
            published,
            f"16 bytes of payload: the timed chip takes {' or '.join(f'{rate:g}' for rate in sorted(rates))} Gbps for "
            f"N = {', '.join(str(row['n']) for row in short)}; with {number(least, 'flag_and_payload_bytes') - 6:g} bytes and "
            f"N = {least['n']} {number(least, 'chip_gbps'):.1f} Gbps (published {number(least, 'published_gbps'):g})",
            HOLDS if rates == {100.0} else NOT,
            "line-rate",
        )
    ]


def network(tables: Tables) -> list[Row]:
    """A network between the switches with less than the line rate."""
    published = "over a network with less than the line rate, aggregation makes the loss of messages less likely"
    if "network-loss" not in tables:
        return [claim("section 6", published, "no experiment was given (--repository DIR)", OPEN, "")]
    rows = tables["network-loss"]

    def missing(flows: int, gbps: float) -> list[float]:
        return [number(row, "missing_percent") for row in rows.select(flows=flows, network_gbps=gbps)]

    few, many, wide = missing(4, 0.3), missing(5000, 0.3), missing(5000, 1.0)
    helps = all(max(each[1:]) < each[0] for each in (few, many))
    return [
        claim(
            "section 6",
            published,
            f"20 MB/s over 0.3 Gbps: without aggregation {few[0]:.0f} % are missing; for N = 2, 4, 8 {_percents(few[1:])} of four "
            f"flows, {_percents(many[1:])} of 5,000; where nothing is lost without aggregation (1 Gbps), {_percents(wide[1:], 1)} of "
            "5,000 flows are, left in a batch or lost",
            PARTLY if helps else NOT,
            "network-loss",
        )
    ]


def _percents(shares: list[float], digits: int = 0) -> str:
    return ", ".join(f"{share:.{digits}f}" for share in shares) + " %"


def controllers(tables: Tables) -> list[Row]:
    """The same by SDN controllers."""
    if "figure-12" not in tables:
        return [
            claim(
                "Figure 12",
                "controllers: goodput for N >= 2 is below that for N = 1",
                "no measurement was given (--controllers FILE)",
                OPEN,
                "",
            )
        ]
    others = [row for row in tables["figure-12"].rows if _controllers_are_full(row)]
    worse = [row for row in others if number(row, "ratio_to_n_1") < 1]
    verdict = HOLDS if len(worse) == len(others) else PARTLY if 2 * len(worse) >= len(others) else NOT
    ratios = [
        number(row, "switch") / number(row, "controllers")
        for row in tables["figure-12"].rows
        if row["switch"] is not None and row["controllers"]
    ]
    beside = (
        f"; the software switch in the same run: {min(ratios):.1f} to {max(ratios):.0f} times theirs" if ratios else ""
    )
    best = max(number(row, "controllers") for row in tables["figure-12"].rows)
    chip = tables["figure-9"].select(n=8, load=1.0)[0]["one_place"]
    return [
        claim(
            "section 5",
            "controllers cost far more than the pipeline of a switch",
            f"at most {1e3 * best:.2f} Mbps of payload; a port of 100 Gbps with one place carries {chip:.1f} Gbps (N = 8, Poisson messages)",
            HOLDS if best < 0.01 * float(chip or 0) else NOT,
            "figure-9, figure-12",
        ),
        claim(
            "Figure 12",
            "controllers: goodput for N >= 2 is below that for N = 1",
            f"at {len(worse)} of {len(others)} points where N = 1 lets through less than arrives{beside}",
            verdict,
            "figure-12",
        ),
    ]


def _controllers_are_full(row: Row) -> bool:
    """Whether N >= 2 is compared at a rate that the controllers cannot take with N = 1."""
    if row["n"] == 1 or row["ratio_to_n_1"] is None:
        return False
    if not row["ratio_to_n_1"]:
        # Nothing came through for this N: more than its controllers can take.
        return True
    single = number(row, "controllers") / number(row, "ratio_to_n_1")
    return single < 0.95 * 0.128 * number(row, "arrival_mpps")
