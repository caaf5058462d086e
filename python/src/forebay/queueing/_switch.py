"""The software switch as second switch: its service times are measured, packet by packet, and make the waits of Poisson messages.

The second switch is `forebay.Switch` with `iot_disaggregate`: one call for each N-packet, which returns N messages. What is measured is
the processor time of the thread, so what other programs of the machine do meanwhile is not in it. Waits are Lindley's recursion on
the measured times in their order, with simulated arrivals. So no clock is read while packets wait, and a waiting time does not
depend on how well a machine sends on time.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ._check import Array, choice, count, non_negative, positive
from ._chip import MOST_MESSAGES
from ._departures import GROUPINGS, Grouping
from ._estimate import batch_means
from ._measured import MeasuredWait
from ._minimal_rate import minimal_service_rate
from ._simulate import lindley

__all__ = ["switch_departures", "switch_service_times", "switch_waiting_time"]

_WARM_UP = 2000
_BATCHES = 32
_ROUTES = """
add ipv4_lpm ipv4.dst_addr:0x0A000200/24 to_next_hop(next_hop_id:7, port:2)
add next_hops next_hop:7 set_macs(src_addr:0x0200000001FE, dst_addr:0x020000000102)
"""


def switch_service_times(repository: Path, n: int, packets: int = 200_000) -> Array:
    """Processor time of each of `packets` N-packets that the software switch disaggregates, in microseconds: one-dimensional.

    `repository` is a checkout with its programs; N is 1 to 8.
    """
    from forebay import Switch, compile

    if count("n", n) > MOST_MESSAGES:
        raise ValueError(f"n = {n} must be 1 to {MOST_MESSAGES}: the program iot_disaggregate takes no more")
    packets = count("packets", packets)
    programs = repository / "programs"
    splitter = Switch(
        compile(programs / "iot_disaggregate" / "iot_disaggregate.p4", define=[f"N={n}", "METHOD=2"]), ports=4
    )
    copies = "".join(f"mc_node_create {copy} 2\nmc_node_associate 1002 {copy}\n" for copy in range(n))
    splitter.apply(f"{_ROUTES}mc_mgrp_create 1002\n{copies}")
    packet = _n_packet(programs, n)
    if len(splitter.send(packet, port=1)) != n:
        raise RuntimeError(f"an N-packet of {n} messages does not become {n} packets")
    measured = np.empty(packets + _WARM_UP, dtype=np.int64)
    clock, send = time.thread_time_ns, splitter.send
    collects = gc.isenabled()
    gc.disable()
    try:
        for index in range(measured.size):
            begin = clock()
            send(packet, 1)
            measured[index] = clock() - begin
    finally:
        if collects:
            gc.enable()
    result: Array = measured[_WARM_UP:] / 1e3
    return result


def switch_waiting_time(service_times: Array, n: int, delta: float, seed: int = 1) -> MeasuredWait:
    """Mean wait of N-packets at mu_N*(delta) of fixed service, in the unit of the service times.

    `service_times` are one-dimensional, at least 64 of them. mu_N is one over their mean; messages come so fast that it is mu_N*(delta).
    """
    times = _times(service_times)
    service_rate = 1 / float(times.mean())
    message_rate = service_rate / float(minimal_service_rate(n, 1.0, delta, "fixed"))
    random = np.random.Generator(np.random.SFC64(count("seed", seed, minimum=0)))
    gaps = random.standard_gamma(n, times.size - 1) / message_rate
    waits = lindley(times[:-1], gaps)
    waits = waits[: waits.size // _BATCHES * _BATCHES].reshape(_BATCHES, -1)
    estimate = batch_means(waits.mean(axis=1), waits.size)
    return MeasuredWait(n, message_rate, service_rate, "fixed", estimate.mean, estimate.half_width)


def switch_departures(
    service_times: Array, n: int, service_rate: float, grouping: Grouping = "after", seed: int = 1
) -> Array:
    """Times between N-packets that leave a first switch with these service times, in units of 1 / lambda: one-dimensional.

    The times are stretched so that their mean is one over `service_rate`, which is in units of lambda: of N-packets with `grouping`
    "after", of messages with "before".
    """
    times = _times(service_times)
    times = times / times.mean() / float(positive("service_rate", service_rate))
    random = np.random.Generator(np.random.SFC64(count("seed", seed, minimum=0)))
    served = n if choice("grouping", grouping, GROUPINGS) == "after" else 1
    gaps = random.standard_gamma(served, times.size)
    leaving = np.cumsum(gaps) + lindley(times[:-1], gaps[1:]) + times
    result: Array = np.diff(leaving if grouping == "after" else leaving[n - 1 :: n])
    return result


def _times(service_times: Array) -> Array:
    times = non_negative("service_times", service_times)
    if times.ndim != 1 or times.size < 2 * _BATCHES:
        raise ValueError(
            f"service_times has shape {times.shape}; it must be one-dimensional with at least {2 * _BATCHES} elements"
        )
    return times


def _n_packet(programs: Path, n: int) -> bytes:
    """What `iot_aggregate` makes of N messages."""
    from forebay import Switch, compile

    aggregator = Switch(compile(programs / "iot_aggregate" / "iot_aggregate.p4", define=[f"N={n}"]), ports=4)
    aggregator.apply(_ROUTES)
    [left] = [left for message in _messages(n) for left in aggregator.send(message, port=1)]
    return left.data


def _messages(n: int) -> Iterator[bytes]:
    """IoT messages of 16 bytes of payload (`programs/common/iot.p4`), without a UDP checksum."""
    for index in range(n):
        ip = bytes.fromhex("45000032000000004011") + b"\0\0" + bytes([10, 0, 1, 1, 10, 0, 2, 2])
        total = sum(int.from_bytes(ip[at : at + 2], "big") for at in range(0, 20, 2))
        total = (total & 0xFFFF) + (total >> 16)
        ip = ip[:10] + (~total & 0xFFFF).to_bytes(2, "big") + ip[12:]
        udp = bytes.fromhex("9c402328001e0000")
        yield bytes.fromhex("0200000000fe0200000000010800") + ip + udp + b"\xfa" + bytes(5) + bytes([index]) * 16
