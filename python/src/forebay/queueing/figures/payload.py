"""Payload ratio and its gain over single messages: (2), (3), (4)."""

from __future__ import annotations

from pathlib import Path

from .._goodput import FRAMING_BYTES, goodput_gain, packet_bytes, payload_ratio
from ._chart import COLOURS, axes, finish, legend
from ._table import Table

__all__ = ["draw", "table"]

# The text prints the length and the gain for these alone.
_PUBLISHED_BYTES = {1: 64.0}
_PUBLISHED_GAIN_PERCENT = {8: 190.54}


def table() -> Table:
    """A row for each N = 1 ... 8."""
    result = Table(
        "payload",
        "Length, payload ratio and its gain over single messages",
        "bytes: S_N of (2) without framing; ratio: p_N of (3); gain_percent: 100 (p_N / p_1 - 1); wire_*: with the 24 "
        "bytes that Ethernet adds to each frame.",
    )
    for n in range(1, 9):
        result.rows.append(
            {
                "n": n,
                "bytes_published": _PUBLISHED_BYTES.get(n),
                "bytes_formula": packet_bytes(n),
                "ratio_formula": payload_ratio(n),
                "gain_percent_published": _PUBLISHED_GAIN_PERCENT.get(n),
                "gain_percent_formula": 100 * goodput_gain(n),
                "wire_ratio_formula": payload_ratio(n, framing_bytes=FRAMING_BYTES),
                "wire_gain_percent_formula": 100 * goodput_gain(n, FRAMING_BYTES),
            }
        )
    return result


def draw(rows: Table, folder: Path, png: bool = False) -> None:
    """Gain over N."""
    figure, chart = axes()
    n = [row["n"] for row in rows.rows]
    chart.plot(n, [row["gain_percent_formula"] for row in rows.rows], color=COLOURS[0], label="frames, formula (3)")
    chart.plot(
        n, [row["wire_gain_percent_formula"] for row in rows.rows], color=COLOURS[1], label="on the wire, formula"
    )
    published = [(row["n"], row["gain_percent_published"]) for row in rows.rows if row["gain_percent_published"]]
    chart.plot(*zip(*published, strict=True), "o", color=COLOURS[0], label="frames, published")
    chart.set_xlabel("messages in an N-packet, N")
    chart.set_ylabel("gain of goodput over N = 1 (%)")
    legend(figure, chart)
    finish(figure, folder, "payload", "Goodput that aggregation adds at the same throughput", png)
