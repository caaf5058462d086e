"""Waits on the timed chip model: runs `forebay sim` and reads the wait of a queue from its results.

A first chip gathers Poisson messages into N-packets with the P4 program `iot_aggregate`, a second one sends them on from a
port whose rate makes the fixed service time. All else of both chips (`v1model-ideal`) takes no time, and the load of
the first wire is 0.5 %, so the second port's queue is E_N/D/1. Two second chips: `forward` sends N-packets as they
are; `multicast` runs `iot_disaggregate`, so that N messages are queued at once and one service is N messages.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ._check import choice, count
from ._estimate import batch_means
from ._goodput import FRAMING_BYTES, packet_bytes
from ._measured import MeasuredWait
from ._minimal_rate import minimal_service_rate

__all__ = ["ChipRun", "chip_waiting_time", "scenario"]

_INPUT_GBPS = 0.5
_ROUTES = """
add ipv4_lpm ipv4.dst_addr:0x0A000200/24 to_next_hop(next_hop_id:7, port:2)
add next_hops next_hop:7 set_macs(src_addr:0x0200000001FE, dst_addr:0x020000000102)
"""


@dataclass(frozen=True)
class ChipRun:
    """What is run: `forebay` is the command, `repository` the checkout with its programs, `packets` the N-packets of one seed."""

    forebay: Path
    repository: Path
    packets: int = 60_000
    seeds: int = 6


def chip_waiting_time(
    run: ChipRun, n: int, delta: float, second: Literal["forward", "multicast"] = "forward"
) -> MeasuredWait:
    """Mean wait of N-packets at mu_N*(delta) of fixed service, in microseconds, over several seeds. N is 1, 2, 4 or 8.

    Raises `RuntimeError` with what `forebay sim` says when it fails or loses packets.
    """
    count("seeds", run.seeds, minimum=2)
    count("packets", run.packets)
    text, message_rate, service_rate = scenario(run, n, delta, second)
    waits = []
    for seed in range(1, run.seeds + 1):
        chip = next(chip for chip in _simulate(run, text, seed)["chips"] if chip["name"] == "second")
        if chip["lost"] or chip["dropped"]:
            raise RuntimeError(f"the second chip lost packets: {chip['lost']} {chip['dropped']}")
        taken = [queue for queue in chip["queues"] if queue["taken"]]
        waits.append(taken[0]["mean_wait_ns"] / 1e3)
    # The j-th of N messages that are queued together waits j - 1 message times longer than the first.
    extra = (n - 1) / (2 * n * service_rate) if second == "multicast" else 0.0
    estimate = batch_means(waits, run.packets * run.seeds)
    return MeasuredWait(n, message_rate, service_rate, "fixed", estimate.mean - extra, estimate.half_width)


def scenario(
    run: ChipRun, n: int, delta: float, second: Literal["forward", "multicast"] = "forward"
) -> tuple[str, float, float]:
    """The scenario as text, and rates of messages and of service, per microsecond."""
    if count("n", n) not in (1, 2, 4, 8):
        raise ValueError(f"n = {n} must be 1, 2, 4 or 8: others the program iot_aggregate does not have")
    choice("second", second, ("forward", "multicast"))
    message_bits = 8 * packet_bytes(1, framing_bytes=FRAMING_BYTES)
    message_rate = _INPUT_GBPS * 1e3 / message_bits
    service_rate = message_rate * float(minimal_service_rate(n, 1.0, delta, "fixed"))
    served_bits = 8 * packet_bytes(n, framing_bytes=FRAMING_BYTES) if second == "forward" else n * message_bits
    programs = run.repository.resolve() / "programs"
    text = _SCENARIO.format(
        n=n,
        second=second,
        duration=run.packets * n / message_rate,
        gbps=_INPUT_GBPS,
        first_program=programs / "iot_aggregate" / "iot_aggregate.p4",
        routes=_ROUTES,
        second_chip=_FORWARD.format(programs=programs) if second == "forward" else _multicast(programs, n),
        port_gbps=service_rate * served_bits / 1e3,
    )
    return text, message_rate, service_rate


def _simulate(run: ChipRun, text: str, seed: int) -> dict[str, Any]:
    command = [str(run.forebay), "sim", "/dev/stdin", "--json", "--seed", str(seed)]
    finished = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise RuntimeError(f"{' '.join(command)}: {finished.stderr.strip()}")
    output = json.loads(finished.stdout)
    case = output[0] if isinstance(output, list) else output
    results: dict[str, Any] = case["results"]
    return results


def _multicast(programs: Path, n: int) -> str:
    copies = "".join(f"mc_node_create {copy} 2\nmc_node_associate 1002 {copy}\n" for copy in range(n))
    return _MULTICAST.format(programs=programs, n=n, routes=_ROUTES, copies=copies)


_SCENARIO = '''
description = "N-packets of {n} Poisson messages wait for a port: {second}"
duration_us = {duration}
warm_up_us = 1000
drain_us = 100000
seed = 1

[[chip]]
name = "first"
spec = "v1model-ideal"
program = "{first_program}"
defines = ["N={n}"]
commands = """{routes}"""

{second_chip}
[[chip.port]]
numbers = [2]
gbps = {port_gbps}

[[link]]
from = "first:2"
to = "second:1"

[[traffic]]
name = "messages"
to = ["first:1"]
gbps = {gbps}
arrivals = "poisson"
frame = {{ message = {{ payload_bytes = 16, flows = 1 }} }}

[measure]
queues = ["second:2"]
'''

_FORWARD = '''
[[chip]]
name = "second"
spec = "v1model-ideal"
program = "{programs}/portfwd/portfwd.p4"
commands = """
add ports standard_metadata.ingress_port:1 forward(port:2)
"""
'''

_MULTICAST = '''
[[chip]]
name = "second"
spec = "v1model-ideal"
program = "{programs}/iot_disaggregate/iot_disaggregate.p4"
defines = ["N={n}", "METHOD=2"]
commands = """{routes}
mc_mgrp_create 1002
{copies}"""
'''
