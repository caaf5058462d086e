"""Waits, departures and losses on the timed chip model, by `forebay sim`.

A first chip gathers Poisson messages into N-packets with the P4 program `iot_aggregate`, a second one sends them on from a
port whose rate makes the fixed service time. All else of both chips (`v1model-ideal`) takes no time, and the load of
the first wire is 0.5 %, so the second port's queue is E_N/D/1. Two second chips: `forward` sends N-packets as they
are; `multicast` runs `iot_disaggregate`, so that N messages are queued at once and one service is N messages.

Departures are looked at with a load of 0.05 % on that wire, since they are compared more closely. With service *before* grouping the
port with the limited rate is that of a chip before the first one, and serves single messages.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ._check import Array, choice, count, positive
from ._departures import GROUPINGS, Grouping
from ._estimate import batch_means
from ._goodput import FRAMING_BYTES, packet_bytes
from ._measured import MeasuredWait
from ._minimal_rate import minimal_service_rate

__all__ = ["MOST_MESSAGES", "ChipRun", "chip_accepted", "chip_departures", "chip_waiting_time", "scenario"]

MOST_MESSAGES = 8
"""Messages in an N-packet of the programs iot_aggregate and iot_disaggregate."""

_INPUT_GBPS = 0.5
_DEPARTURES_GBPS = 0.05
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
    """Mean wait of N-packets at mu_N*(delta) of fixed service, in microseconds, over several seeds. N is 1 to 8.

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


def chip_departures(run: ChipRun, n: int, service_rate: float, grouping: Grouping = "after", seed: int = 1) -> Array:
    """Times between N-packets that leave the first switch, in units of 1 / lambda: one-dimensional. N is 1 to 8.

    `service_rate` is in units of lambda, of N-packets with `grouping` "after", of messages with "before"; service is fixed.
    """
    _known(n)
    rate = float(positive("service_rate", service_rate))
    message_rate = _message_rate(_DEPARTURES_GBPS)
    parts = _parts(run, n, _DEPARTURES_GBPS, run.packets * n / message_rate)
    if choice("grouping", grouping, GROUPINGS) == "after":
        gbps = rate * message_rate * 8 * packet_bytes(n, framing_bytes=FRAMING_BYTES) / 1e3
        text = _SCENARIO.format(
            second="fixed service", second_chip=_forward(run, "second"), port_gbps=gbps, queue="", **parts
        )
        leaving = "second:2"
    else:
        gbps = rate * message_rate * 8 * packet_bytes(1, framing_bytes=FRAMING_BYTES) / 1e3
        text = _BEFORE.format(zeroth_chip=_forward(run, "zeroth"), port_gbps=gbps, **parts)
        leaving = "first:2"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "departures.csv"
        _simulate(run, text, seed, "--departures", str(file))
        ports = np.loadtxt(file, dtype=str, delimiter=",", skiprows=1, usecols=1, ndmin=1)
        times = np.loadtxt(file, dtype=np.int64, delimiter=",", skiprows=1, usecols=5, ndmin=1)
    if not np.all(ports == leaving):
        raise RuntimeError(f"frames left by {sorted(set(ports.tolist()))}, not by {leaving} alone")
    result: Array = np.diff(times) / 1e6 * message_rate
    return result


def chip_accepted(run: ChipRun, n: int, load: float, seed: int = 1) -> float:
    """Share of N-packets that a second chip takes whose port has room for one that waits, beside the one in service: E_N/D/1/2.

    `load` is in N-packets that come in a service time; any load above 0 is allowed.
    """
    _known(n)
    message_rate = _message_rate(_INPUT_GBPS)
    size = packet_bytes(n, framing_bytes=FRAMING_BYTES)
    gbps = message_rate / n / float(positive("load", load)) * 8 * size / 1e3
    text = _SCENARIO.format(
        second="a port with one place",
        second_chip=_forward(run, "second"),
        port_gbps=gbps,
        # A packet in service is in the queue no more. What a buffer holds of a frame has no framing; less than two fit.
        queue=f"queues = [{{ capacity_bytes = {int(1.5 * packet_bytes(n))} }}]",
        **_parts(run, n, _INPUT_GBPS, run.packets * n / message_rate),
    )
    chip = next(chip for chip in _simulate(run, text, seed)["chips"] if chip["name"] == "second")
    return float(chip["transmitted"] / chip["received"])


def scenario(
    run: ChipRun, n: int, delta: float, second: Literal["forward", "multicast"] = "forward"
) -> tuple[str, float, float]:
    """The scenario as text, and rates of messages and of service, per microsecond."""
    _known(n)
    choice("second", second, ("forward", "multicast"))
    message_rate = _message_rate(_INPUT_GBPS)
    service_rate = message_rate * float(minimal_service_rate(n, 1.0, delta, "fixed"))
    message_bits = 8 * packet_bytes(1, framing_bytes=FRAMING_BYTES)
    served_bits = 8 * packet_bytes(n, framing_bytes=FRAMING_BYTES) if second == "forward" else n * message_bits
    text = _SCENARIO.format(
        second=second,
        second_chip=_forward(run, "second") if second == "forward" else _multicast(_programs(run), n),
        port_gbps=service_rate * served_bits / 1e3,
        queue="",
        **_parts(run, n, _INPUT_GBPS, run.packets * n / message_rate),
    )
    return text, message_rate, service_rate


def _known(n: int) -> None:
    if count("n", n) > MOST_MESSAGES:
        raise ValueError(f"n = {n} must be 1 to {MOST_MESSAGES}: the program iot_aggregate takes no more")


def _message_rate(gbps: float) -> float:
    """Messages in a microsecond."""
    return gbps * 1e3 / (8 * packet_bytes(1, framing_bytes=FRAMING_BYTES))


def _programs(run: ChipRun) -> Path:
    return run.repository.resolve() / "programs"


def _parts(run: ChipRun, n: int, gbps: float, duration: float) -> dict[str, Any]:
    """What all scenarios have: microseconds, rate of messages on the wire, first program."""
    program = _programs(run) / "iot_aggregate" / "iot_aggregate.p4"
    return {"n": n, "duration": duration, "gbps": gbps, "first_program": program, "routes": _ROUTES}


def _forward(run: ChipRun, name: str) -> str:
    return _FORWARD.format(programs=_programs(run), name=name)


def _simulate(run: ChipRun, text: str, seed: int, *more: str) -> dict[str, Any]:
    command = [str(run.forebay), "sim", "/dev/stdin", "--json", "--seed", str(seed), *more]
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
{queue}

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

_BEFORE = '''
description = "Poisson messages wait for a port, then {n} of them become an N-packet"
duration_us = {duration}
drain_us = 100000
seed = 1

{zeroth_chip}
[[chip.port]]
numbers = [2]
gbps = {port_gbps}

[[chip]]
name = "first"
spec = "v1model-ideal"
program = "{first_program}"
defines = ["N={n}"]
commands = """{routes}"""

[[link]]
from = "zeroth:2"
to = "first:1"

[[traffic]]
name = "messages"
to = ["zeroth:1"]
gbps = {gbps}
arrivals = "poisson"
frame = {{ message = {{ payload_bytes = 16, flows = 1 }} }}
'''

_FORWARD = '''
[[chip]]
name = "{name}"
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
