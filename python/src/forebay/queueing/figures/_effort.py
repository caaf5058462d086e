"""How many packets are simulated."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FULL", "NORMAL", "QUICK", "Effort"]


@dataclass(frozen=True)
class Effort:
    """Numbers of N-packets, and the relative half width of a confidence interval at which a simulation may stop; whether
    control variates narrow it."""

    name: str
    waits: int
    half_width: float
    ciw: int
    departures: int
    loss: int
    controlled: bool = False


QUICK = Effort("quick", waits=300_000, half_width=0.01, ciw=0, departures=50_000, loss=15_000)
"""About ten seconds of processor time."""

NORMAL = Effort("normal", waits=20_000_000, half_width=0.004, ciw=50_000, departures=500_000, loss=100_000)
"""About two minutes."""

FULL = Effort(
    "full", waits=4_000_000_000, half_width=0.0008, ciw=500_000, departures=1_000_000, loss=200_000, controlled=True
)
"""About ten minutes, half of them with Ciw; may be interrupted and continued."""
