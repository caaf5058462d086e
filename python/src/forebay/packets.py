"""Packets of a program's own headers: built, read by the program's own parser, compared, printed.

A `Codec` belongs to a program (`Program.packets`). Headers have the names that they have in the program, without the first part of
`hdr.ipv4`; fields have theirs. What is built is bytes for everything that sends bytes, such as PTF.

>>> from forebay import compile, examples
>>> codec = compile(examples.path("router.p4")).packets
>>> packet = codec.build(
...     ethernet={"dst_addr": "02:00:00:00:00:01", "ether_type": 0x0800},
...     ipv4={"version": 4, "ihl": 5, "total_len": 24, "ttl": 64, "dst_addr": "10.0.0.1"},
...     payload=b"ping")
>>> packet.ipv4.header_checksum = internet_checksum(packet.ipv4.to_bytes())
>>> bytes(packet).hex()
'02000000000100000000000008004500001800000000400070e6000000000a00000170696e67'
>>> print(codec.parse(bytes(packet)))
hdr.ethernet
  dst_addr    0x020000000001
  src_addr    0x000000000000
  ether_type  0x0800
hdr.ipv4
  version          0x4
  ihl              0x5
  tos              0x00
  total_len        0x0018
  identification   0x0000
  flags            0x0
  fragment_offset  0x0000
  ttl              0x40
  protocol         0x00
  header_checksum  0x70e6
  src_addr         0x00000000
  dst_addr         0x0a000001
payload, 4 bytes
  70696e67
>>> other = codec.parse(bytes(packet))
>>> other.ipv4.ttl -= 1
>>> packet == other, packet.differences(other)
(False, ['hdr.ipv4.ttl: 0x40 and 0x3f'])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any, SupportsBytes

from forebay import _native
from forebay._batch import octets
from forebay._values import U32, Value, number, pairs, within

if TYPE_CHECKING:
    from forebay._program import Header, Program

__all__ = ["Codec", "HeaderValue", "PacketValue", "internet_checksum"]


def internet_checksum(data: bytes) -> int:
    """The checksum of RFC 1071, of IPv4, UDP, TCP and ICMP: over data whose own checksum is 0.

    >>> hex(internet_checksum(bytes.fromhex("450000180000000040000000000000000a000001")))
    '0x70e6'
    """
    padded = data + b"\0" * (len(data) % 2)
    total = sum(int.from_bytes(padded[place : place + 2], "big") for place in range(0, len(padded), 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


class HeaderValue:
    """A header with a value for each field, which are its attributes: `header.ttl`; or, for names that Python does not permit,
    `header["ttl"]`. Values are integers; they may be set in every notation of `forebay.number`. Bytes give a `varbit` field its length,
    too."""

    _info: Header
    _values: dict[str, int]
    _lengths: dict[str, int]

    def __init__(self, info: Header, values: Mapping[str, Value] | None = None) -> None:
        object.__setattr__(self, "_info", info)
        object.__setattr__(self, "_values", {field.name: 0 for field in info.fields})
        object.__setattr__(self, "_lengths", {field.name: 0 for field in info.fields if field.varbit})
        for name, value in pairs(values or {}, "fields of a header"):
            self[name] = value

    @property
    def name(self) -> str:
        """Its full name in the program."""
        return self._info.name

    def _widths(self) -> dict[str, int]:
        """Bits of each field as they are on the wire."""
        return {field.name: self._lengths.get(field.name, field.width) for field in self._info.fields}

    def to_bytes(self) -> bytes:
        """The header as it is on the wire."""
        bits, total = 0, 0
        for name, width in self._widths().items():
            total = (total << width) | self._values[name]
            bits += width
        if bits % 8:
            raise ValueError(f"{self.name} has {bits} bits, which are no whole bytes")
        return total.to_bytes(bits // 8, "big")

    def set_varbit(self, name: str, data: bytes) -> None:
        """Gives a `varbit` field its bytes, and so its length."""
        if name not in self._lengths:
            raise AttributeError(f"{self.name} has no varbit field {name!r}")
        self._set_bits(name, int.from_bytes(data, "big"), 8 * len(data))

    def __getitem__(self, name: str) -> int:
        self._check(name)
        return self._values[name]

    def __setitem__(self, name: str, value: Value) -> None:
        self._check(name)
        if name in self._lengths and isinstance(value, bytes):
            self.set_varbit(name, value)
            return
        width = self._widths()[name]
        plain = number(value)
        if plain.bit_length() > width:
            raise ValueError(f"{self.name}.{name} has {width} bits, {plain:#x} needs {plain.bit_length()}")
        self._values[name] = plain

    def _set_bits(self, name: str, value: int, bits: int) -> None:
        """Gives a `varbit` field a length in bits, and a value of it."""
        most = next(field.width for field in self._info.fields if field.name == name)
        if bits > most:
            raise ValueError(f"{self.name}.{name} has at most {most} bits, not {bits}")
        self._values[name], self._lengths[name] = value, bits

    def _check(self, name: str) -> None:
        if name not in self._values:
            raise AttributeError(f"{self.name} has no field {name!r}; there are {', '.join(self._values)}")

    def __getattr__(self, name: str) -> int:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __setattr__(self, name: str, value: Value) -> None:
        self[name] = value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self._values.items())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HeaderValue):
            return NotImplemented
        return self.name == other.name and self._values == other._values and self._lengths == other._lengths

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        names = max((len(name) for name in self._values), default=0)
        widths = {field.name: field.width for field in self._info.fields}
        rows = (f"  {name:<{names}}  {_written(value, widths[name])}" for name, value in self)
        return "\n".join([self.name, *rows])

    def __repr__(self) -> str:
        return f"<{self.name} {self._values}>"


def _written(value: int, width: int) -> str:
    return f"0x{value:0{(width + 3) // 4}x}"


class PacketValue:
    """Headers in order, and what follows them. Headers are attributes, by their names without what stands before the first dot:
    `packet.ipv4`; and items by any name: `packet["hdr.mpls[0]"]`. `bytes(packet)` is what is on the wire."""

    def __init__(self, headers: list[HeaderValue], payload: bytes = b"") -> None:
        self.headers = headers
        """In the order of the wire."""
        self.payload = payload
        """What follows the headers."""

    def __bytes__(self) -> bytes:
        return b"".join(header.to_bytes() for header in self.headers) + self.payload

    def __len__(self) -> int:
        return len(bytes(self))

    def place(self, header: str, field: str) -> tuple[int, int]:
        """Where a field is in the packet: the bits before it, and its own. `ptf.mask.Mask.set_do_not_care` takes both.

        >>> from forebay import compile, examples
        >>> compile(examples.path("router.p4")).packets.build(ethernet={}, ipv4={}).place("ipv4", "ttl")
        (176, 8)
        """
        wanted = self[header]
        wanted._check(field)
        widths = wanted._widths()
        headers = takewhile(lambda each: each is not wanted, self.headers)
        fields = takewhile(lambda name: name != field, widths)
        before = sum(sum(each._widths().values()) for each in headers) + sum(widths[name] for name in fields)
        return before, widths[field]

    def __contains__(self, name: str) -> bool:
        return any(_is_named(header.name, name) for header in self.headers)

    def __getitem__(self, name: str) -> HeaderValue:
        for header in self.headers:
            if _is_named(header.name, name):
                return header
        there = ", ".join(header.name for header in self.headers)
        raise KeyError(f"the packet has no header {name!r}; it has {there or 'none'}")

    def __getattr__(self, name: str) -> HeaderValue:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __setattr__(self, name: str, value: Any) -> None:
        # What is on the wire is `headers` and `payload`: another attribute would be read again, and change nothing.
        if name not in ("headers", "payload"):
            raise AttributeError(
                f"a packet has no {name!r} to set; set fields of its headers, its headers or its payload"
            )
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, bytes):
            return bytes(self) == other
        if not isinstance(other, PacketValue):
            return NotImplemented
        return self.headers == other.headers and self.payload == other.payload

    __hash__ = None  # type: ignore[assignment]

    def differences(self, other: PacketValue) -> list[str]:
        """What differs, a line for each field, header and payload; empty for equal packets."""
        mine, others = _by_name(self.headers), _by_name(other.headers)
        found = [f"{name} is only in the first" for name in mine if name not in others]
        found += [f"{name} is only in the second" for name in others if name not in mine]
        for name in (name for name in mine if name in others):
            widths = {field.name: field.width for field in mine[name]._info.fields}
            for field, value in mine[name]:
                theirs = others[name][field]
                if value != theirs:
                    written = f"{_written(value, widths[field])} and {_written(theirs, widths[field])}"
                    found.append(f"{name}.{field}: {written}")
                bits, their_bits = (header._widths()[field] for header in (mine[name], others[name]))
                if bits != their_bits:
                    found.append(f"{name}.{field}: {bits} and {their_bits} bits")
        if mine.keys() == others.keys() and list(mine) != list(others):
            found.append(f"order: {', '.join(mine)} and {', '.join(others)}")
        if self.payload != other.payload:
            found.append(f"payload: {self.payload.hex() or 'empty'} and {other.payload.hex() or 'empty'}")
        return found

    def __str__(self) -> str:
        lines = [str(header) for header in self.headers]
        if self.payload:
            lines.append(f"payload, {len(self.payload)} bytes")
            lines += [f"  {self.payload[place : place + 32].hex()}" for place in range(0, len(self.payload), 32)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<PacketValue {' / '.join(header.name for header in self.headers)}, {len(self.payload)} bytes of payload>"
        )


def _by_name(headers: list[HeaderValue]) -> dict[str, HeaderValue]:
    """Headers by name; what a parser has extracted again has its number behind."""
    found: dict[str, HeaderValue] = {}
    for header in headers:
        number = 1 + sum(each.name == header.name for each in found.values())
        found[header.name if number == 1 else f"{header.name} ({number})"] = header
    return found


def _is_named(full: str, name: str) -> bool:
    return full == name or full.partition(".")[2] == name


class Codec:
    """Builds and reads packets of a program's headers."""

    def __init__(self, program: Program) -> None:
        # Not the program itself, which refers to this: a cycle would keep both until the garbage collector finds it.
        self._headers = program.headers
        self._native = program._native
        self._parser: dict[int, _native.Switch] = {}

    def header(self, name: str, values: Mapping[str, Value] | None = None) -> HeaderValue:
        """A header by its name; fields that are not given are 0."""
        for full, info in self._headers.items():
            if _is_named(full, name):
                return HeaderValue(info, values)
        raise KeyError(f"the program has no header {name!r}; it has {', '.join(self._headers)}")

    def build(self, payload: SupportsBytes = b"", **headers: Mapping[str, Value]) -> PacketValue:
        """A packet with these headers, in the order in which they are named, and a payload. An element of a stack is named as in
        `build(**{"mpls[0]": {"label": 16}})`."""
        return PacketValue([self.header(name, values) for name, values in headers.items()], octets(payload))

    def parse(self, packet: SupportsBytes, port: int = 0) -> PacketValue:
        """Reads a packet with the program's parser, as it would arrive at a port: the headers that the parser extracts, and the rest
        as payload.

        Tables are those of a program that was just loaded. What a parser skips without extracting it is no header: `parse` then gives
        back less than `data`. Bits of a header that is cut short stay in the payload.
        """
        data = octets(packet)
        port = within("port", port, U32)
        if port not in self._parser:
            self._parser[port] = _native.Switch(self._native, [port], True, 0, None)
        headers, behind = [], 0
        for event in _first_parser(self._parser[port], data, port):
            if event["event"] == "extract":
                header = HeaderValue(self._headers[event["header"]])
                start = behind
                behind = int(event["cursor"])
                _fill(header, event["fields"], behind - start)
                headers.append(header)
            elif event["event"] == "advance":
                behind += int(event["bits"])
        return PacketValue(headers, data[behind // 8 :])


def _first_parser(switch: _native.Switch, data: bytes, port: int) -> Iterator[dict[str, Any]]:
    """The steps of a packet up to the end of the parser that it meets first."""
    import json

    _, _, events = switch.trace(data, port, 0)
    entered = False
    for event in json.loads(events):
        if event["event"] == "enter":
            if entered:
                return
            entered = True
        yield event


def _fill(header: HeaderValue, fields: Mapping[str, str], bits: int) -> None:
    fixed = sum(field.width for field in header._info.fields if not field.varbit)
    for name, value in fields.items():
        if name in header._lengths:
            header._set_bits(name, int(value, 16), bits - fixed)
        else:
            header[name] = int(value, 16)
