"""Tables, registers, counters and meters of a switch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forebay import _native
from forebay._program import Program, TableInfo
from forebay._values import U32, U64, Match, Value, key_fields, number, pairs, read_match, within

__all__ = [
    "ActionProfileArray",
    "Count",
    "CounterArray",
    "Entry",
    "Group",
    "Member",
    "MeterArray",
    "Rates",
    "RegisterArray",
    "Table",
]


@dataclass(frozen=True)
class Member:
    """In place of an action: a member of the table's action profile."""

    number: int


@dataclass(frozen=True)
class Group:
    """In place of an action: a group of the table's action selector."""

    number: int


@dataclass(frozen=True)
class Entry:
    """An entry of a table as it is read."""

    key: dict[str, Match]
    """Key fields by name: a number, `Prefix`, `Masked`, `Range`, or `None` for an optional field that matches anything."""
    action: str | Member | Group
    args: dict[str, int] = field(default_factory=dict)
    """Of an action, by parameter."""
    priority: int = 0
    """The larger wins; 0 in tables whose entries cannot overlap."""


class Rates(NamedTuple):
    """Rates of a two-rate three-colour meter (RFC 2698), in packets or bytes a second, and bursts in packets or bytes."""

    committed_rate: int
    committed_burst: int
    peak_rate: int
    peak_burst: int


class Count(NamedTuple):
    """What a counter has counted."""

    packets: int
    bytes: int


Invoked = str | Member | Group


class Table:
    """A table of a switch. Each write is atomic for packets.

    A key is a mapping from fields to what they must be: a number in any notation (`forebay.number`), `"10.0.0.0/8"`,
    `"0x0800&&&0xff00"`, `"1024..65535"`, or `Prefix`, `Masked`, `Range`. Fields and actions have their P4 names, which may be cut to
    an unambiguous end.

    >>> from forebay import Switch, examples
    >>> table = Switch(examples.path("router.p4")).table("ipv4_lpm")
    >>> table.add({"dst_addr": "10.1.0.0/16"}, "forward", {"port": 3, "mac": "02:00:00:00:00:03"})
    >>> table.entries
    [Entry(key={'hdr.ipv4.dst_addr': Prefix(value=167837696, length=16)}, action='Routing.forward', args={'port': 3, 'mac': 2199023255555}, priority=0)]
    >>> table.add({"dst_addr": "10.1.0.0/16"}, "forwrd")
    Traceback (most recent call last):
    forebay._errors.ControlError: table `Routing.ipv4_lpm`: there is no action `forwrd`; did you mean `forward`?
    """

    def __init__(self, native: _native.Switch, program: Program, name: str) -> None:
        self._native = native
        self.info: TableInfo = program.tables[native.table_name(name)]
        """What the program declares."""

    @property
    def name(self) -> str:
        """Its full name."""
        return self.info.name

    def add(
        self,
        key: Mapping[str, Match],
        action: Invoked,
        args: Mapping[str, Value] | None = None,
        *,
        priority: int | None = None,
    ) -> None:
        """Adds an entry.

        `priority` is at least 1, the larger wins; 1 by default. It has no meaning in tables whose fields are all `exact` or
        `lpm`.

        Raises
        ------
        ControlError
            A name means nothing, a value does not fit, the entry exists, or the table is full.
        """
        self._native.write_entry("insert", self.name, key_fields(key), self._checked(priority), _invoked(action, args))

    def modify(
        self,
        key: Mapping[str, Match],
        action: Invoked,
        args: Mapping[str, Value] | None = None,
        *,
        priority: int | None = None,
    ) -> None:
        """Changes the action of the entry with this key and priority."""
        self._native.write_entry("modify", self.name, key_fields(key), self._checked(priority), _invoked(action, args))

    def remove(self, key: Mapping[str, Match], *, priority: int | None = None) -> None:
        """Removes the entry with this key and priority."""
        self._native.delete_entry(self.name, key_fields(key), _priority(priority))

    def clear(self) -> None:
        """Removes all entries that are not constant."""
        self._native.clear_entries(self.name)

    def set_default(self, action: str | None, args: Mapping[str, Value] | None = None) -> None:
        """Changes the default action; `None` restores that of the program."""
        self._native.set_default(self.name, None if action is None else _invoked(action, args))

    @property
    def default(self) -> Entry:
        """What runs when no entry matches; its key is empty."""
        return Entry({}, *_read(self._native.default_action(self.name)))

    @property
    def entries(self) -> list[Entry]:
        """All entries in the order in which they were added, those of the program first."""
        names = [key.name for key in self.info.keys if key.match_kind != "selector"]
        return [
            Entry(dict(zip(names, (read_match(*it) for it in matches), strict=True)), *_read(invoked), priority)
            for matches, priority, invoked in self._native.entries(self.name)
        ]

    def count(self, key: Mapping[str, Match], *, priority: int | None = None) -> Count:
        """What the direct counter of the entry with this key has counted."""
        return Count(*self._native.entry_counter(self.name, key_fields(key), _priority(priority)))

    def set_rates(self, key: Mapping[str, Match], rates: Rates | None, *, priority: int | None = None) -> None:
        """Sets the rates of the direct meter of the entry with this key; without rates it is always green."""
        self._native.configure_entry_meter(self.name, key_fields(key), _priority(priority), _rates(rates))

    def _checked(self, priority: int | None) -> int | None:
        """The priority, unless it is less than the least of this table. Entries that cannot overlap are read with 0."""
        may_overlap = any(key.match_kind in ("ternary", "range", "optional") for key in self.info.keys)
        if priority is not None and index(priority) < int(may_overlap):
            raise ValueError(f"priority = {priority} must be at least {int(may_overlap)}")
        return _priority(priority)

    def __len__(self) -> int:
        return len(self._native.entries(self.name))

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self)} of {self.info.size} entries>"


class RegisterArray:
    """An array of registers of a switch.

    >>> from forebay import Switch, examples
    >>> seen = Switch(examples.path("router.p4")).register("seen")
    >>> seen[3] = 7
    >>> seen[3], seen.read()[:4].tolist()
    (7, [0, 0, 0, 7])
    >>> sum(seen), len(seen)
    (7, 512)
    """

    def __init__(self, native: _native.Switch, name: str) -> None:
        self._native, self.name = native, name
        native.read_register(name, 0, 0)

    def read(self, first: int = 0, count: int | None = None) -> NDArray[np.uint64] | list[int]:
        """Elements from `first` on: shape `(count,)`. Those of more than 64 bits come as a list of integers."""
        return self._native.read_register(
            self.name, within("first", first, U64), None if count is None else within("count", count, U64)
        )

    def write(self, values: Iterable[Value] | NDArray[np.unsignedinteger[Any]], first: int = 0) -> None:
        """Writes elements from `first` on: all of them, or none."""
        plain = values.tolist() if isinstance(values, np.ndarray) else values
        self._native.write_register(self.name, within("first", first, U64), [number(value) for value in plain])

    def reset(self) -> None:
        """Gives every element the value that it had at the start."""
        self._native.reset_register(self.name)

    def __len__(self) -> int:
        return len(self.read())

    def __iter__(self) -> Iterator[int]:
        values = self.read()
        return iter(values if isinstance(values, list) else values.tolist())

    def __getitem__(self, index: int) -> int:
        return int(self._native.read_register(self.name, _element(self, index), 1)[0])

    def __setitem__(self, index: int, value: Value) -> None:
        self._native.write_register(self.name, _element(self, index), [number(value)])


class CounterArray:
    """An array of counters of a switch; those of a table's entries are `Table.count`.

    >>> from forebay import Switch, examples
    >>> switch = Switch(examples.path("router.p4"))
    >>> _ = switch.send(bytes(64), port=2)
    >>> switch.counter("arrived")[2], switch.counter("arrived").packets[:3].tolist()
    (Count(packets=1, bytes=64), [0, 0, 1])
    """

    def __init__(self, native: _native.Switch, name: str) -> None:
        self._native, self.name = native, name
        native.read_counter(name, 0, 0)

    @property
    def packets(self) -> NDArray[np.uint64]:
        """Packets of every element: shape `(size,)`."""
        return self._native.read_counter(self.name, 0, None)[0]

    @property
    def bytes(self) -> NDArray[np.uint64]:
        """Bytes of every element: shape `(size,)`."""
        return self._native.read_counter(self.name, 0, None)[1]

    def __len__(self) -> int:
        return len(self.packets)

    def __iter__(self) -> Iterator[Count]:
        packets, octets = self._native.read_counter(self.name, 0, None)
        return map(Count, packets.tolist(), octets.tolist())

    def __getitem__(self, index: int) -> Count:
        packets, octets = self._native.read_counter(self.name, _element(self, index), 1)
        return Count(int(packets[0]), int(octets[0]))

    def __setitem__(self, index: int, count: tuple[int, int]) -> None:
        if not isinstance(count, tuple) or len(count) != 2:
            raise TypeError(f"a counter is set to a pair of packets and bytes, not to {count!r}")
        packets, octets = within("packets", count[0], U64), within("bytes", count[1], U64)
        self._native.write_counter(self.name, _element(self, index), packets, octets)


class MeterArray:
    """An array of meters of a switch; those of a table's entries are `Table.set_rates`.

    >>> from forebay import Rates, Switch, examples
    >>> meter = Switch(examples.path("router.p4")).meter("police")
    >>> meter[1] = Rates(1000, 10, 2000, 20)
    >>> meter[1], meter[0]
    (Rates(committed_rate=1000, committed_burst=10, peak_rate=2000, peak_burst=20), None)
    """

    def __init__(self, native: _native.Switch, name: str) -> None:
        self._native, self.name = native, name
        native.meter_rates(name, 0)

    # Without this, Python would count indices up to one that is refused.
    __iter__ = None

    def __getitem__(self, index: int) -> Rates | None:
        rates = self._native.meter_rates(self.name, _element(self, index))
        return None if rates is None else Rates(*rates)

    def __setitem__(self, index: int, rates: Rates | None) -> None:
        self._native.configure_meter(self.name, _element(self, index), _rates(rates))


class ActionProfileArray:
    """Members and groups of an action profile of a switch."""

    def __init__(self, native: _native.Switch, name: str) -> None:
        self._native, self.name = native, name

    def add_member(self, member: int, action: str, args: Mapping[str, Value] | None = None) -> None:
        """Adds a member."""
        self._native.write_member("insert", self.name, within("member", member, U32), _invoked(action, args))

    def modify_member(self, member: int, action: str, args: Mapping[str, Value] | None = None) -> None:
        """Changes a member's action."""
        self._native.write_member("modify", self.name, within("member", member, U32), _invoked(action, args))

    def remove_member(self, member: int) -> None:
        """Removes a member that nothing uses."""
        self._native.delete_member(self.name, within("member", member, U32))

    def add_group(self, group: int, members: Mapping[int, int] | Iterable[int]) -> None:
        """Adds a group of a selector: members with weights, or members of weight 1."""
        self._native.write_group("insert", self.name, within("group", group, U32), _weighted(members))

    def modify_group(self, group: int, members: Mapping[int, int] | Iterable[int]) -> None:
        """Changes a group's members."""
        self._native.write_group("modify", self.name, within("group", group, U32), _weighted(members))

    def remove_group(self, group: int) -> None:
        """Removes a group that nothing uses."""
        self._native.delete_group(self.name, within("group", group, U32))


def _weighted(members: Mapping[int, int] | Iterable[int]) -> list[tuple[int, int]]:
    weighted = members.items() if isinstance(members, Mapping) else ((member, 1) for member in members)
    return [(within("member", member, U32), within("weight", weight, U32)) for member, weight in weighted]


def _element(array: RegisterArray | CounterArray | MeterArray, place: int) -> int:
    """An index, unless it is one of no array at all; the switch refuses others that the array has not."""
    result = index(place)
    if not 0 <= result <= U64:
        size = "" if isinstance(array, MeterArray) else f"; it has {len(array)} elements"
        raise IndexError(f"`{array.name}` has no index {result}{size}")
    return result


def _priority(priority: int | None) -> int | None:
    if priority is not None and not -(2**63) <= index(priority) < 2**63:
        raise ValueError(f"priority = {priority} must be at most {2**63 - 1}")
    return priority


def _rates(rates: Rates | None) -> Rates | None:
    if rates is None:
        return None
    if not isinstance(rates, tuple) or len(rates) != len(Rates._fields):
        raise TypeError(f"rates are Rates, or a tuple of as many numbers, not {rates!r}")
    return Rates(*(within(name, rate, U64) for name, rate in zip(Rates._fields, rates, strict=True)))


def _invoked(action: Invoked, args: Mapping[str, Value] | None) -> tuple[str, list[tuple[str, int]]] | tuple[str, int]:
    if isinstance(action, Member):
        return "member", within("member", action.number, U32)
    if isinstance(action, Group):
        return "group", within("group", action.number, U32)
    if not isinstance(action, str):
        raise TypeError(f"an action is its name, a Member or a Group, not {type(action).__name__}")
    return action, [(name, number(value)) for name, value in pairs(args or {}, "arguments of an action")]


def _read(invoked: tuple[str, list[tuple[str, int]]] | tuple[str, int]) -> tuple[Invoked, dict[str, int]]:
    name, said = invoked
    if isinstance(said, int):
        return (Group(said) if name == "group" else Member(said)), {}
    return name, dict(said)
