"""A program in a switch in memory: packets in, packets out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, Literal, NamedTuple, SupportsBytes

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forebay import _native
from forebay._batch import Batch, Packet, array_of, arrival_ports, octets
from forebay._program import Program, compile
from forebay._result_memory import ResultMemory
from forebay._state import ActionProfileArray, CounterArray, MeterArray, RegisterArray, Table
from forebay._values import U16, U32, U64, within

__all__ = ["Books", "Digest", "Switch", "Trace"]

PORTS = 511
"""Ports that a program of v1model can name: 0 to 510."""

MOST_PORTS = 65_536
"""How many ports a switch may have: each costs memory."""

LAST_SECOND = 18_000_000_000
"""The last time of a switch, after more than 500 years: nanoseconds are counted in 64 bits."""

_PACKET_NS = 1_000
"""Time from one call of `send` to the next."""

_ADDED_OCTETS = 64
"""Bytes by which packets may grow before results need more than the memory that was requested."""


class Books(NamedTuple):
    """Packets since the switch was made. `received + copies == transmitted + dropped` while none is inside."""

    received: int
    copies: int
    """Multicast replicas beyond the first, and clones."""
    transmitted: int
    dropped: int


class Digest(NamedTuple):
    """A message of the program to the control plane."""

    name: str
    fields: dict[str, int]


@dataclass(frozen=True)
class Trace:
    """A packet's way through a program."""

    text: str
    """For people: a step a line, with its place in the source, as `forebay trace` prints it."""
    events: list[dict[str, Any]]
    """The steps one by one, as `forebay trace --json` prints them: each with `event`, and numbers in hexadecimal."""
    outputs: list[Packet]
    """What left the switch."""

    def of(self, event: str) -> list[dict[str, Any]]:
        """The steps of one kind: `lookup`, `extract`, `assign`, `verdict`, ..."""
        return [step for step in self.events if step["event"] == event]

    def __str__(self) -> str:
        return self.text


class Switch:
    """A program in a switch whose ports are in memory.

    Time stands still but for calls: each `send` is one microsecond after the one before, and `advance` lets time pass. So the same
    calls give the same bytes.

    Parameters
    ----------
    program
        A program, or what `compile` takes.
    ports
        The number of ports, or their numbers; by default every number that a v1model program can name, 0 to 510. A packet to another
        port is dropped as `no_such_port`. A switch of few ports takes less time for a packet.
    engine
        `jit`, machine code, or `interp`, the reference.
    seed
        Begins the random numbers that the program sees.
    memory_limit_bytes
        What tables, registers, counters and meters may need together.

    Raises
    ------
    LoadError
        The program needs more, or is not complete for its architecture.

    >>> from forebay import Switch, examples
    >>> switch = Switch(examples.path("router.p4"), ports=4)
    >>> switch.table("ipv4_lpm").add({"dst_addr": "10.1.0.0/16"}, "forward", {"port": 3, "mac": "02:00:00:00:00:03"})
    >>> packet = switch.program.packets.build(
    ...     ethernet={"ether_type": 0x0800}, ipv4={"version": 4, "ihl": 5, "ttl": 64, "dst_addr": "10.1.2.3"})
    >>> [left] = switch.send(bytes(packet), port=1)
    >>> left.port, switch.program.packets.parse(left.data).ipv4.ttl
    (3, 63)
    >>> switch.send(bytes(packet)[:20], port=1), switch.drops
    ([], {'parser_error.PacketTooShort': 1})
    """

    def __init__(
        self,
        program: Program | str | os.PathLike[str],
        *,
        ports: int | Iterable[int] | None = None,
        engine: Literal["jit", "interp"] = "jit",
        seed: int = 0,
        memory_limit_bytes: int | None = None,
    ) -> None:
        if engine not in ("jit", "interp"):
            raise ValueError(f"there is no engine {engine!r}; there are 'jit' and 'interp'")
        self.program = program if isinstance(program, Program) else compile(program)
        """The program."""
        self.ports: tuple[int, ...] = tuple(sorted(set(_port_numbers(ports))))
        """Numbers of the ports."""
        limit = None if memory_limit_bytes is None else within("memory_limit_bytes", memory_limit_bytes, U64)
        self._native = _native.Switch(
            self.program._native, list(self.ports), engine == "interp", within("seed", seed, U64), limit
        )
        self._result_memory = ResultMemory()
        self._now_ns = 0

    # Packets

    def send(self, packet: SupportsBytes, port: int = 0) -> list[Packet]:
        """Lets a packet arrive at a port, and returns what leaves until nothing moves any more: by port, in order. The packet is bytes, or of
        `forebay.packets`, or of scapy.

        Raises
        ------
        EndlessError
            The packet goes round without end.
        """
        self._now_ns += _PACKET_NS
        return [
            Packet(*left) for left in self._native.send_one(octets(packet), within("port", port, U32), self._now_ns)
        ]

    def send_batch(
        self,
        packets: Batch | Iterable[SupportsBytes],
        ports: int | ArrayLike | None = None,
        *,
        out: Batch | None = None,
    ) -> Batch:
        """Lets many packets arrive at the same time, in order, and returns what leaves in the order of leaving.

        Parameters
        ----------
        packets
            A batch, or packets one by one.
        ports
            The ports of arrival: one for all, or an array of shape `(n,)`. By default those of the batch.
        out
            Memory for what leaves: `Batch.room`, or an earlier result that is no longer needed. It is overwritten, and the result is a view of its
            beginning. If there is not enough room, the result is in new memory. Without `out` the memory of the last two results is used
            again once nothing refers to them any more; only a loop that keeps results has new memory for each.

        Raises
        ------
        ValueError
            A port does not exist, offsets fall or lie outside of the data, or `out` cannot be written or has memory in common with `packets`.
        EndlessError
            A packet goes round without end.

        The interpreter's lock is released meanwhile: other Python threads run.

        >>> import numpy as np
        >>> from forebay import Batch, Switch, examples
        >>> switch = Switch(examples.path("reflector.p4"), ports=2)
        >>> frames = np.zeros((100_000, 64), dtype=np.uint8)
        >>> left = switch.send_batch(Batch.of_matrix(frames), ports=np.arange(100_000) % 2)
        >>> left.matrix().shape, left.ports[:4].tolist(), bool((left.origins == np.arange(100_000)).all())
        ((100000, 64), [0, 1, 0, 1], True)
        >>> again = switch.send_batch(Batch.of_matrix(frames), ports=1, out=left)
        >>> again.ports[:4].tolist(), again.data.base is left.data.base
        ([1, 1, 1, 1], True)
        """
        batch = packets if isinstance(packets, Batch) else Batch.of(packets)
        count = len(batch.offsets) - 1
        arrays = (
            array_of("data", batch.data, np.uint8),
            array_of("offsets", batch.offsets, np.int64),
            array_of("ports", batch.ports, np.uint32) if ports is None else arrival_ports(ports, count),
        )
        room = self._room(count, arrays[0].size) if out is None else _writable(out, arrays)
        self._now_ns += _PACKET_NS
        left, octets, others = self._native.send(
            *arrays, self._now_ns, (room.data, room.offsets, room.ports, room.origins)
        )
        result = Batch(room.data[:octets], room.offsets[: left + 1], room.ports[:left], room.origins[:left])
        if out is None:
            self._result_memory.keep(room)
        return result if others is None else result._followed_by(Batch(*others))

    def _room(self, packets: int, octets: int) -> Batch:
        """Memory for what leaves of a batch, with room for a tunnel's headers. What is not used stays without pages."""
        count = max(packets, 0)
        return self._result_memory.take(count, octets + _ADDED_OCTETS * count)

    def trace(self, packet: SupportsBytes, port: int = 0) -> Trace:
        """Lets a packet arrive, and returns what the program does with it, step by step. Registers and counters change as by `send`.

        >>> from forebay import Switch, examples
        >>> print(Switch(examples.path("reflector.p4")).trace(bytes(14), port=5).text)  # doctest: +ELLIPSIS
        packet 1 enters port 5, 14 bytes
        ...
        packet leaves port 5, 14 bytes
        ...
        """
        self._now_ns += _PACKET_NS
        left, text, events = self._native.trace(octets(packet), within("port", port, U32), self._now_ns)
        return Trace(text, json.loads(events), [Packet(*packet) for packet in left])

    def advance(self, seconds: float) -> None:
        """Lets time pass without a packet: meters fill, and idle entries of tables with time-outs expire."""
        if not seconds >= 0:
            raise ValueError(f"time does not go back: {seconds} seconds")
        if self.now + seconds > LAST_SECOND:
            raise OverflowError(f"{self.now + seconds} s is beyond the last time of a switch, {LAST_SECOND:,} s")
        now_ns = self._now_ns + round(seconds * 1e9)
        self._native.pass_time(now_ns)
        self._now_ns = now_ns

    @property
    def now(self) -> float:
        """The switch's time in seconds since it was made."""
        return self._now_ns * 1e-9

    # What happened

    @property
    def drops(self) -> dict[str, int]:
        """Packets dropped by reason: `ingress_drop`, `parser_error.PacketTooShort`, `no_such_port`, ..."""
        return dict(self._native.drops())

    @property
    def books(self) -> Books:
        """Packets received, copied, transmitted and dropped."""
        return Books(*self._native.books())

    def digests(self) -> list[Digest]:
        """Messages to the control plane since the last call, at most 1024 of them."""
        messages, _ = self._native.take_digests()
        return [Digest(name, dict(fields)) for name, fields in messages]

    # State

    def table(self, name: str) -> Table:
        """The table that a P4 name means: `MyIngress.ipv4_lpm`, or its end `ipv4_lpm` if that is not ambiguous."""
        return Table(self._native, self.program, name)

    def register(self, name: str) -> RegisterArray:
        """A register array by its P4 name."""
        return RegisterArray(self._native, name)

    def counter(self, name: str) -> CounterArray:
        """A counter array by its P4 name."""
        return CounterArray(self._native, name)

    def meter(self, name: str) -> MeterArray:
        """A meter array by its P4 name."""
        return MeterArray(self._native, name)

    def action_profile(self, name: str) -> ActionProfileArray:
        """An action profile or selector by its P4 name."""
        return ActionProfileArray(self._native, name)

    def set_crc_parameters(
        self,
        calculation: str,
        *,
        polynomial: int,
        initial: int = 0,
        final_xor: int = 0,
        reflect_data: bool = False,
        reflect_remainder: bool = False,
    ) -> None:
        """Sets the parameters of a hash with `crc16_custom` or `crc32_custom`, one of `Program.calculations`. The polynomial is without its
        highest term; `reflect_data` takes the bits of each byte from the least significant one, `reflect_remainder` reverses the result."""
        numbers = (
            within("polynomial", polynomial, U64),
            within("initial", initial, U64),
            within("final_xor", final_xor, U64),
        )
        self._native.set_crc_parameters(calculation, numbers, (reflect_data, reflect_remainder))

    def multicast_group(self, group: int, replicas: Sequence[int | tuple[int, int]] | None) -> None:
        """Sets what a multicast group copies to: ports, or pairs of port and instance (`egress_rid`). `None` removes it."""
        self._native.set_multicast_group(within("group", group, U16), _replicas(replicas))

    def clone_session(
        self,
        session: int,
        replicas: Sequence[int | tuple[int, int]] | None,
        *,
        packet_length_bytes: int | None = None,
        class_of_service: int = 0,
    ) -> None:
        """Sets where clones of a session go, as `multicast_group`, and to how many bytes they are cut. `None` removes it."""
        length = None if packet_length_bytes is None else within("packet_length_bytes", packet_length_bytes, U32)
        self._native.set_clone_session(
            within("session", session, U32),
            _replicas(replicas),
            length,
            within("class_of_service", class_of_service, 255),
        )

    def apply(self, commands: str, *, name: str = "commands") -> list[str]:
        """Applies commands of STF that configure (`add`, `setdefault`, `mirroring_add`, `register_write`, ...), and returns what they
        have to say, such as the value of a register. Those about packets are passed over.

        >>> from forebay import Switch, examples
        >>> switch = Switch(examples.path("router.p4"))
        >>> switch.apply("register_write seen 2 7\\nregister_read seen 2")
        ['Routing.seen[2] = 7']
        """
        return self._native.apply(commands, name)

    def apply_file(self, path: str | os.PathLike[str]) -> list[str]:
        """Applies the commands of an STF file that configure: what `forebay run --entries` does."""
        return self._native.apply(_native.read_text(path, "file of table entries"), os.fspath(path))

    def __repr__(self) -> str:
        return f"<Switch of {self.program!r}, {len(self.ports)} ports>"


_ARRAYS: dict[str, type[np.generic]] = {"data": np.uint8, "offsets": np.int64, "ports": np.uint32, "origins": np.int64}
"""Types of a batch's arrays."""


def _writable(out: Batch, arrays: tuple[NDArray[Any], ...]) -> Batch:
    """`out`, if results can be written to it while these arrays are read."""
    if not isinstance(out, Batch):
        raise TypeError(f"out is a Batch, not {type(out).__name__}")
    taken = list(arrays)
    for name, kind in _ARRAYS.items():
        mine = getattr(out, name)
        array_of(f"out.{name}", mine, kind)
        if not isinstance(mine, np.ndarray) or not mine.flags.c_contiguous:
            raise ValueError(f"out.{name} must be an array without gaps, as Batch.room makes it")
        if not mine.flags.writeable:
            raise ValueError("out is read-only")
        if any(np.may_share_memory(mine, theirs) for theirs in arrays):
            raise ValueError("out has memory in common with the packets that are sent")
        if any(np.may_share_memory(mine, theirs) for theirs in taken):
            raise ValueError(f"out.{name} has memory in common with another array of out")
        taken.append(mine)
    return out


def _replicas(replicas: Sequence[int | tuple[int, int]] | None) -> list[tuple[int, int]] | None:
    if replicas is None:
        return None
    copies = (replica if isinstance(replica, tuple) else (replica, 0) for replica in replicas)
    return [(within("port", port, U32), within("instance", instance, U16)) for port, instance in copies]


def _port_numbers(ports: int | Iterable[int] | None) -> Iterable[int]:
    """The numbers of a switch's ports.

    >>> list(_port_numbers(np.int64(2))), _port_numbers([5])
    ([0, 1], [5])
    """
    if ports is None:
        return range(PORTS)
    if isinstance(ports, str | bytes):
        raise TypeError(f"ports are how many there are, or their numbers, not {ports!r}")
    try:
        count = index(ports)  # type: ignore[arg-type]
    except TypeError:
        return [within("port", port, U32) for port in ports]  # type: ignore[union-attr]
    if not 0 <= count <= MOST_PORTS:
        raise ValueError(f"ports = {count} must be at least 0 and at most {MOST_PORTS}")
    return range(count)
