"""Bad input to every call of the package: an exception of a documented kind with a text, and nothing worse."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forebay
import forebay.packets
import forebay.ptf
import forebay.testing
from forebay import Batch, Departures, InternalError, Results, Simulation, Switch, Tester, _native, compile, examples
from forebay.queueing import read_distances, read_goodput_curves, read_timestamps, read_waits

ROUTER = examples.path("router.p4")
QUEUE = examples.path("queue.toml")
TEST = examples.path("router_test.toml")

# As docs/python.md has them.
DOCUMENTED = (
    forebay.ForebayError,
    ValueError,
    TypeError,
    OverflowError,
    KeyError,
    IndexError,
    AttributeError,
)

# Values that nearly every parameter refuses.
ODD: list[Any] = [
    None,
    -1,
    2**64,
    1e400,
    float("nan"),
    1.5,
    "",
    "\0",
    "no such thing",
    "/",
    b"",
    b"\xff",
    object(),
    [],
    [object()],
    {},
    {"a": object()},
    [[1, 2], [3]],
    np.zeros((2, 2)),
    {1, 2},
]


class Calls:
    """Calls of everything that the package has, each with one argument replaced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = compile(ROUTER)

    def __iter__(self) -> Iterator[tuple[str, Callable[[Any], object]]]:
        yield from self._programs()
        yield from self._packets()
        yield from self._state()
        yield from self._simulations()
        yield from self._files()

    def _programs(self) -> Iterator[tuple[str, Callable[[Any], object]]]:
        yield "compile", compile
        for name in ("include", "define", "name"):
            yield f"compile {name}", lambda odd, name=name: compile("a\n", **{name: odd})  # type: ignore[misc]
        for name in ("ports", "engine", "seed", "memory_limit_bytes"):
            yield f"Switch {name}", lambda odd, name=name: Switch(self.program, **{name: odd})  # type: ignore[misc]
        yield "Switch", Switch
        yield "run_stf program", lambda odd: forebay.testing.run_stf(odd, "packet 1 00\n")
        yield "run_stf test", lambda odd: forebay.testing.run_stf(self.program, odd)
        yield "run_stf engine", lambda odd: forebay.testing.run_stf(self.program, "packet 1 00\n", engine=odd)
        yield "number", forebay.number

    def _packets(self) -> Iterator[tuple[str, Callable[[Any], object]]]:
        switch, codec = Switch(self.program, ports=4), self.program.packets
        packet = codec.build(ethernet={}, ipv4={})
        yield "send packet", switch.send
        yield "send port", lambda odd: switch.send(b"\0" * 64, odd)
        yield "send_batch packets", switch.send_batch
        yield "send_batch one", lambda odd: switch.send_batch([odd])
        yield "send_batch ports", lambda odd: switch.send_batch([b"a", b"b"], ports=odd)
        for place in range(4):
            good: list[Any] = [np.zeros(4, np.uint8), np.array([0, 2, 4]), np.zeros(2, np.uint32), np.arange(2)]

            def arrays(odd: Any, place: int = place, good: list[Any] = good) -> object:
                return switch.send_batch(Batch(*good[:place], odd, *good[place + 1 :]))

            yield f"Batch {place}", arrays
        yield "send_batch out", lambda odd: switch.send_batch([b"a"], out=odd)
        for place in range(4):
            room: list[Any] = list(vars(Batch.room(2, 10)).values())

            def into(odd: Any, place: int = place, room: list[Any] = room) -> object:
                return switch.send_batch([b"a"], out=Batch(*room[:place], odd, *room[place + 1 :]))

            yield f"send_batch out {place}", into
        yield "Batch.room packets", lambda odd: Batch.room(odd, 10)
        yield "Batch.room octets", lambda odd: Batch.room(10, odd)
        yield "Batch.of", Batch.of
        yield "Batch.of_matrix", Batch.of_matrix
        yield "Batch.of ports", lambda odd: Batch.of([b"a"], ports=odd)
        yield "trace", switch.trace
        yield "advance", switch.advance
        yield "assert_output", lambda odd: forebay.testing.assert_output(switch, packet, odd)
        yield "build", lambda odd: codec.build(odd)
        yield "build header", lambda odd: codec.build(ethernet=odd)
        yield "build field", lambda odd: codec.build(ethernet={"dst_addr": odd})
        yield "header", codec.header
        yield "parse", codec.parse
        yield "parse port", lambda odd: codec.parse(b"\0" * 64, odd)
        yield "packet[]", lambda odd: packet[odd]
        yield "place", lambda odd: packet.place(odd, odd)
        yield "hexdump", forebay.ptf.hexdump

    def _state(self) -> Iterator[tuple[str, Callable[[Any], object]]]:
        switch = Switch(self.program, ports=4)
        table, seen = switch.table("ipv4_lpm"), switch.register("seen")
        good: dict[str, Any] = {"key": {"dst_addr": 1}, "action": "forward", "args": {"port": 1, "mac": 1}}
        for change in (table.add, table.modify):
            for name in (*good, "priority"):
                yield (
                    f"{change.__name__} {name}",
                    lambda odd, change=change, name=name: change(**{**good, name: odd}),  # type: ignore[misc]
                )
        yield "add dst_addr", lambda odd: table.add({"dst_addr": odd}, "drop")
        yield "add prefix", lambda odd: table.add({"dst_addr": forebay.Prefix(odd, odd)}, "drop")
        yield "add masked", lambda odd: table.add({"dst_addr": forebay.Masked(odd, odd)}, "drop")
        yield "add argument", lambda odd: table.add({"dst_addr": 2}, "forward", {"port": odd, "mac": 1})
        yield "add member", lambda odd: table.add({"dst_addr": 2}, forebay.Member(odd))
        for call in (table.remove, table.count, table.set_default, switch.table, switch.register, switch.counter):
            yield f"{call.__name__}", call
        yield "set_rates", lambda odd: table.set_rates({"dst_addr": 1}, odd)
        yield "meter", switch.meter
        yield "action_profile", lambda odd: switch.action_profile(odd).add_member(1, "forward")
        yield "add_group", lambda odd: switch.action_profile("none").add_group(odd, odd)
        yield "seen[]", lambda odd: seen[odd]
        yield "seen[] =", lambda odd: seen.__setitem__(0, odd)
        yield "write", lambda odd: seen.write(odd)
        yield "write first", lambda odd: seen.write([1], odd)
        yield "read", lambda odd: seen.read(odd, odd)
        yield "arrived[]", lambda odd: switch.counter("arrived")[odd]
        yield "arrived[] =", lambda odd: switch.counter("arrived").__setitem__(odd, odd)
        yield "police[]", lambda odd: switch.meter("police")[odd]
        yield "police[] =", lambda odd: switch.meter("police").__setitem__(0, odd)
        yield "multicast_group", lambda odd: switch.multicast_group(odd, odd)
        yield "multicast_group replicas", lambda odd: switch.multicast_group(1, odd)
        yield "clone_session", lambda odd: switch.clone_session(odd, odd)
        yield "packet_length_bytes", lambda odd: switch.clone_session(1, [1], packet_length_bytes=odd)
        yield "apply", switch.apply
        yield "apply_file", switch.apply_file

    def _simulations(self) -> Iterator[tuple[str, Callable[[Any], object]]]:
        simulation = Simulation(QUEUE, LOAD=10)
        yield "Simulation", Simulation
        yield "Simulation key", lambda odd: Simulation({"description": "x", "duration_us": odd})
        yield "Simulation folder", lambda odd: Simulation(QUEUE, folder=odd or "x")
        yield "Simulation parameter", lambda odd: Simulation(QUEUE, LOAD=odd)
        yield "Simulation ignore_fit", lambda odd: Simulation(QUEUE, ignore_fit=odd)
        yield "run seed", lambda odd: simulation.run(seed=odd)
        yield "run gbps", lambda odd: simulation.run(gbps=odd)
        yield "results[]", lambda odd: simulation.run()[odd]
        yield "sweep", forebay.sweep
        for name in ("parameters", "seeds", "processes", "retries", "out", "folder"):
            point = {"processes": 1}
            yield (
                f"sweep {name}",
                lambda odd, name=name, point=point: forebay.sweep(QUEUE, **{**point, name: odd}),  # type: ignore[misc]
            )
        yield "sweep LOAD", lambda odd: forebay.sweep(QUEUE, {"LOAD": odd}, processes=1)
        yield "Tester", Tester
        yield "Tester chip", lambda odd: Tester(TEST, chip=odd)
        yield "Tester interfaces", lambda odd: Tester(TEST, interfaces=odd)
        yield "experiment", forebay.experiment
        yield "Results", Results
        yield "Departures", lambda odd: Departures(odd, odd, odd)

    def _files(self) -> Iterator[tuple[str, Callable[[Any], object]]]:
        yield "read_results", forebay.read_results
        yield "read_departures", forebay.read_departures
        yield "read_test_results", forebay.read_test_results
        yield "read_waits", read_waits
        yield "read_distances", read_distances
        yield "read_goodput_curves", read_goodput_curves
        yield "read_timestamps", lambda odd: read_timestamps(odd, "arrival_s")
        yield (
            "stf_tests",
            lambda odd: forebay.testing.stf_tests(self.folder if isinstance(odd, str) and odd in ("", "/") else odd),
        )


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: f"{odd!r:.20}")
def test_every_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: Any) -> None:
    monkeypatch.chdir(tmp_path)
    refused = 0
    for name, call in Calls(tmp_path):
        try:
            call(odd)
        except DOCUMENTED as error:
            assert not isinstance(error, InternalError), name
            assert str(error), f"{name}: {error!r} has no text"
            refused += 1
        except BaseException as error:
            raise AssertionError(f"{name}({odd!r}) raises {error!r}") from error
    assert refused > 50


def test_files_that_are_missing_have_one_type(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    calls: list[Callable[[Any], object]] = [
        read_waits,
        read_distances,
        read_goodput_curves,
        forebay.read_results,
        forebay.experiment,
        forebay.testing.stf_tests,
    ]
    for call in calls:
        with pytest.raises(forebay.FileError):
            call(missing)
    with pytest.raises(TypeError):
        read_goodput_curves(0)  # type: ignore[arg-type]


def test_what_is_refused_changes_nothing() -> None:
    switch = Switch(ROUTER, ports=4)
    table = switch.table("ipv4_lpm")
    for odd in ODD:
        for wrong in ({"dst_addr": odd}, {odd: 1} if isinstance(odd, str) else {}):
            with pytest.raises(DOCUMENTED):
                table.add(wrong, "no action")
        with pytest.raises(DOCUMENTED):
            switch.advance("soon" if odd in (None, "") else -1)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        switch.advance(1e30)
    assert switch.now == 0 and table.entries == [] and switch.books.received == 0
    assert switch.send(bytes(64)) == [] and switch.books.received == 1


def test_a_panic_is_an_exception() -> None:
    with pytest.raises(InternalError, match="a mistake of Forebay's, please report it: out of order"):
        _native.panic("out of order")


def test_offsets_that_change_meanwhile_are_no_panic() -> None:
    """What another thread does to the arrays of a batch while it is sent gives wrong packets, and nothing worse."""
    import threading

    switch = Switch(examples.path("reflector.p4"), ports=1)
    batch = Batch.of_matrix(np.zeros((200_000, 64), dtype=np.uint8))
    offsets = batch.offsets.copy()
    done = threading.Event()

    def disturb() -> None:
        while not done.is_set():
            batch.offsets[:] = 2**40
            batch.offsets[:] = offsets

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(5):
            try:
                switch.send_batch(batch)
            except ValueError as error:
                assert "offsets" in str(error)
    finally:
        done.set()
        thread.join()
