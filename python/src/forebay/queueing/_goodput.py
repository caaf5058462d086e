"""Share of a packet that is payload, and goodput: the paper's (2) to (4).

An N-packet has one set of headers (Ethernet 14, IPv4 20, UDP 8, flag 6 bytes) and N payloads of 16 bytes.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from ._check import Array, non_negative, order, positive

__all__ = ["FRAMING_BYTES", "HEADER_BYTES", "PAYLOAD_BYTES", "goodput", "goodput_gain", "packet_bytes", "payload_ratio"]

HEADER_BYTES = 48
"""Ethernet, IPv4, UDP and flag header."""

PAYLOAD_BYTES = 16
"""Payload of a message."""

FRAMING_BYTES = 24
"""What Ethernet adds on the wire: preamble and start 8, check sequence 4, gap 12. The paper's (2) leaves it out."""


def packet_bytes(
    n: int, header_bytes: float = HEADER_BYTES, payload_bytes: float = PAYLOAD_BYTES, framing_bytes: float = 0
) -> float:
    """S_N, the length of an N-packet in bytes: (2). With `framing_bytes=FRAMING_BYTES`, on the wire.

    >>> packet_bytes(8), packet_bytes(8, framing_bytes=FRAMING_BYTES)
    (176.0, 200.0)
    """
    n = order(n)
    payload = float(positive("payload_bytes", payload_bytes))
    header = float(non_negative("header_bytes", header_bytes)) + float(non_negative("framing_bytes", framing_bytes))
    return header + n * payload


def payload_ratio(
    n: int, header_bytes: float = HEADER_BYTES, payload_bytes: float = PAYLOAD_BYTES, framing_bytes: float = 0
) -> float:
    """p_N, payload over packet: 16N / (48 + 16N) = N / (N + 3), (3).

    >>> payload_ratio(1), round(payload_ratio(8), 6)
    (0.25, 0.727273)
    """
    size = packet_bytes(n, header_bytes, payload_bytes, framing_bytes)
    return n * float(payload_bytes) / size


def goodput(n: int, throughput: ArrayLike) -> Array:
    """X_N = p_N X, (4), in the unit of `throughput`, of any shape.

    >>> float(goodput(1, 100.0))
    25.0
    """
    result: Array = payload_ratio(n) * non_negative("throughput", throughput)
    return result


def goodput_gain(n: int, framing_bytes: float = 0) -> float:
    """p_N / p_1 - 1: what aggregation adds at the same throughput. The paper prints 190.54 % for N = 8.

    >>> round(100 * goodput_gain(8), 2)
    190.91
    """
    return payload_ratio(n, framing_bytes=framing_bytes) / payload_ratio(1, framing_bytes=framing_bytes) - 1
