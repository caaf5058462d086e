"""Frequent mistakes: the exception says what is wrong, and what would be right."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forebay
from forebay import Batch, ControlError, Simulation, Switch, compile, examples, sweep

ROUTER, QUEUE = examples.path("router.p4"), examples.path("queue.toml")
PROGRAM = compile(ROUTER)
SWITCH = Switch(PROGRAM, ports=4)
TABLE, CODEC = SWITCH.table("ipv4_lpm"), PROGRAM.packets
FRAMES = Batch.of_matrix(np.zeros((2, 64), dtype=np.uint8), ports=1)


def batch(**changed: Any) -> Batch:
    return Batch(**(vars(FRAMES) | changed))


def cyclic() -> dict[str, Any]:
    scenario: dict[str, Any] = {}
    scenario["again"] = scenario
    return scenario


MISTAKES: list[tuple[Callable[[], object], type[Exception], str]] = [
    (
        lambda: SWITCH.send_batch(batch(offsets=FRAMES.offsets.astype(">i8"))),
        TypeError,
        "offsets of a batch are an array of int64",
    ),
    (
        lambda: SWITCH.send_batch(batch(ports=FRAMES.ports.astype(np.int64))),
        TypeError,
        r"ports.astype\('uint32'\) converts it",
    ),
    (
        lambda: SWITCH.send_batch(batch(data=FRAMES.data.reshape(2, 64))),
        TypeError,
        "data of a batch .* not of uint8 with 2",
    ),
    (
        lambda: SWITCH.send_batch(FRAMES, out=batch(data=np.zeros(200, np.uint8)[::2])),
        ValueError,
        "out.data .* without gaps",
    ),
    (
        lambda: SWITCH.send_batch(FRAMES, out=batch(data=FRAMES.origins)),
        TypeError,
        "out.data of a batch are an array of uint8",
    ),
    (lambda: Switch(PROGRAM, ports=b"4"), TypeError, "ports are how many"),  # type: ignore[arg-type]
    (lambda: SWITCH.send(bytes(70_000)), ValueError, "the packet has 70000 bytes; a switch takes at most 65535"),
    (lambda: SWITCH.trace(bytes(70_000)), ValueError, "the packet has 70000 bytes"),
    (lambda: SWITCH.send_batch(Batch.of([bytes(64), bytes(70_000)])), ValueError, "frame 1 has 70000 bytes"),
    (lambda: SWITCH.advance(float("nan")), ValueError, "nan seconds"),
    (lambda: SWITCH.advance(float("inf")), OverflowError, "last time of a switch, 18,000,000,000 s"),
    (lambda: SWITCH.advance(1e12), OverflowError, "s is beyond the last time"),
    (lambda: TABLE.add(None, "drop"), TypeError, "fields of a key are a mapping"),  # type: ignore[arg-type]
    (lambda: TABLE.add({}, "forward", [1, 2]), TypeError, "arguments of an action are a mapping"),  # type: ignore[arg-type]
    (lambda: TABLE.add({}, "drop", priority=-1), ValueError, "priority = -1 must be at least 0"),
    (lambda: TABLE.add({}, 5), TypeError, "an action is its name"),  # type: ignore[arg-type]
    (lambda: SWITCH.counter("arrived").__setitem__(0, 5), TypeError, "a pair of packets and bytes"),  # type: ignore[arg-type]
    (lambda: SWITCH.register("seen")[2**70], IndexError, f"`seen` has no index {2**70}; it has 512 elements"),
    (lambda: SWITCH.register("seen").__setitem__(-1, 0), IndexError, "`seen` has no index -1; it has 512 elements"),
    (lambda: SWITCH.counter("arrived")[-1], IndexError, "`arrived` has no index -1; it has 512 elements"),
    (lambda: SWITCH.meter("police")[2**70], IndexError, "`police` has no index"),
    (lambda: SWITCH.register("seen").read(-1), ValueError, "first = -1 must be at least 0"),
    (lambda: SWITCH.counter("arrived").__setitem__(0, (-1, 0)), ValueError, "packets = -1 must be at least 0"),
    (
        lambda: SWITCH.meter("police").__setitem__(0, forebay.Rates(1, 1, 2**64, 1)),
        ValueError,
        f"peak_rate = {2**64} must be at least 0 and at most {2**64 - 1}",
    ),
    (lambda: SWITCH.meter("police").__setitem__(0, [1]), TypeError, "rates are Rates"),  # type: ignore[call-overload]
    (lambda: TABLE.add({}, forebay.Member(-1)), ValueError, "member = -1 must be at least 0"),
    (lambda: TABLE.add({"dst_addr": forebay.Prefix(1, -1)}, "drop"), ValueError, "-1 is negative"),
    (lambda: TABLE.remove({"dst_addr": 1}, priority=2**63), ValueError, "priority = .* must be at most"),
    (lambda: SWITCH.multicast_group(2**16, [1]), ValueError, "group = 65536 must be at least 0 and at most 65535"),
    (lambda: SWITCH.multicast_group(1, [(1, 2**16)]), ValueError, "instance = 65536 must be at least 0"),
    (lambda: SWITCH.clone_session(1, [1], class_of_service=256), ValueError, "class_of_service = 256 must be at least"),
    (lambda: SWITCH.trace(bytes(14), port=2**32), ValueError, "port = 4294967296 must be at least 0"),
    (lambda: Switch(PROGRAM, ports=[-1]), ValueError, "port = -1 must be at least 0"),
    (lambda: Switch(PROGRAM, seed=-1), ValueError, "seed = -1 must be at least 0"),
    (lambda: CODEC.parse(bytes(14), -1), ValueError, "port = -1 must be at least 0"),
    (lambda: Simulation(QUEUE, LOAD=10).run(seed=-1), ValueError, "seed = -1 must be at least 0"),
    (lambda: sweep(QUEUE, {"LOAD": [10]}, seeds=[2**63]), ValueError, f"seed = {2**63} must be at least 0"),
    (lambda: iter(SWITCH.meter("police")), TypeError, "not iterable"),  # type: ignore[call-overload]
    (lambda: CODEC.build(ipv4=[1]), TypeError, "fields of a header are a mapping"),  # type: ignore[arg-type]
    (lambda: CODEC.build("text", ipv4={}), TypeError, "a packet is bytes"),  # type: ignore[arg-type]
    (lambda: compile(ROUTER, define=5), TypeError, "macros are"),  # type: ignore[arg-type]
    (lambda: Simulation(cyclic()), ValueError, "nested without end"),
    (lambda: Simulation({1: 2}), TypeError, "keys of a scenario are texts, not 1"),  # type: ignore[dict-item]
    (lambda: Simulation(QUEUE, LOAD=10).run(gbps="5"), TypeError, "a number of Gbps, not '5'"),  # type: ignore[arg-type]
    (lambda: sweep(QUEUE, {"LOAD": [10]}, dask=5), TypeError, "address of a scheduler"),
    (lambda: forebay.experiment(ROUTER, threads=-1), ValueError, "threads = -1"),
]


@pytest.mark.parametrize(("call", "kind", "text"), MISTAKES, ids=[text[:30] for _, _, text in MISTAKES])
def test_a_mistake_says_what_would_be_right(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_out_may_not_be_one_memory_for_two_arrays() -> None:
    memory = np.zeros(1000, dtype=np.int64)
    out = Batch(memory.view(np.uint8)[:200], memory[:3], np.zeros(2, np.uint32), np.zeros(2, np.int64))
    with pytest.raises(ValueError, match=r"out.offsets has memory in common with another array of out"):
        SWITCH.send_batch(FRAMES, out=out)


def test_priorities_of_entries_that_overlap_begin_at_one() -> None:
    ternary = Path(ROUTER).read_text().replace("hdr.ipv4.dst_addr: lpm", "hdr.ipv4.dst_addr: ternary")
    table = Switch(compile(ternary), ports=1).table("ipv4_lpm")
    table.add({"dst_addr": "1&&&3"}, "drop", priority=1)
    for change in (table.add, table.modify):
        with pytest.raises(ValueError, match="priority = 0 must be at least 1"):
            change({"dst_addr": "1&&&3"}, "drop", priority=0)


def test_numbers_of_numpy_are_numbers() -> None:
    switch = Switch(PROGRAM, ports=np.int64(3))
    assert switch.ports == (0, 1, 2)
    switch.multicast_group(1, np.array([0, 2]))


def test_arrays_of_a_switch_are_sequences() -> None:
    switch = Switch(PROGRAM, ports=2)
    switch.register("seen")[2] = 5
    switch.send(bytes(64), port=1)
    assert list(switch.register("seen"))[:3] == [0, 0, 5]
    assert [count.packets for count in switch.counter("arrived")][:3] == [0, 1, 0]
    assert len(switch.register("seen")) == len(switch.counter("arrived")) == 512


def test_registers_are_written_as_a_whole_or_not() -> None:
    register = Switch(PROGRAM, ports=2).register("seen")
    size = len(register)
    for first, values in ((0, [5, 2**64]), (size - 1, [5, 6])):
        with pytest.raises(ControlError):
            register.write(values, first)
        assert register[first] == 0


def test_packets_are_read_from_everything_with_bytes() -> None:
    data = bytes(CODEC.build(ethernet={"ether_type": 0x800}, ipv4={"ttl": 3}))
    for form in (bytearray(data), memoryview(data), CODEC.parse(data)):
        assert CODEC.parse(form).ipv4.ttl == 3


def test_what_is_kept_of_a_sweep_must_be_results(tmp_path: Path) -> None:
    first = sweep(QUEUE, {"LOAD": [10]}, out=tmp_path)
    [file] = tmp_path.glob("*.json")
    for damaged in ("5", "[]", file.read_text()[:100]):
        file.write_text(damaged)
        assert sweep(QUEUE, {"LOAD": [10]}, out=tmp_path).results == first.results


def test_more_processes_than_points_are_not_started() -> None:
    found = sweep(QUEUE, {"LOAD": [10, 20]}, processes=1_000_000)
    assert len(found) == 2


def test_a_refused_group_is_not_there() -> None:
    switch = Switch(PROGRAM, ports=4)
    for _ in range(2):
        with pytest.raises(ControlError, match="means no multicast: groups begin at 1"):
            switch.apply("mc_mgrp_create 0")
        with pytest.raises(ControlError, match="multicast group 70000 is larger than 65535"):
            switch.apply("mc_mgrp_create 70000")
    switch.apply("mc_mgrp_create 7\nmc_node_create 1 4294967290")
    for _ in range(2):
        with pytest.raises(ControlError, match="PSA's port for recirculation"):
            switch.apply("mc_node_associate 7 0")
