"""Numbers and key fields in the notations that people use."""

import ipaddress
import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Masked", "Match", "Prefix", "Range", "Value", "number"]

Value = int | str | bytes
"""A number, or a notation of one: see `number`."""

_MAC = re.compile(r"[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}")


@dataclass(frozen=True)
class Prefix:
    """A field of kind `lpm`: its first `length` bits are compared. Written `"10.0.0.0/8"` in short."""

    value: Value
    length: int


@dataclass(frozen=True)
class Masked:
    """A field of kind `ternary`: bits that are set in `mask` are compared. Written `"0x0800 &&& 0xff00"` in short."""

    value: Value
    mask: Value


@dataclass(frozen=True)
class Range:
    """A field of kind `range`: from `low` to `high`, both included. Written `"1024..65535"` in short."""

    low: Value
    high: Value


Match = Value | Prefix | Masked | Range | None
"""The condition of an entry on a key field. `None`, or no mention, matches anything, which an exact field does not permit."""


def number(value: Value) -> int:
    """A number from one of its notations: an integer, big-endian bytes, or a string with a decimal, hexadecimal (`0x`) or binary
    (`0b`) number, an IPv4, IPv6 or MAC address.

    >>> [number(value) for value in (7, "0x1f", "10.0.0.1", "02:00:00:00:00:01", b"\\x01\\x00")]
    [7, 31, 167772161, 2199023255553, 256]
    >>> number("next")
    Traceback (most recent call last):
    ValueError: 'next' is no number; write 17, 0x11, 10.0.0.1, fe80::1 or 02:00:00:00:00:01
    """
    if isinstance(value, bytes):
        return int.from_bytes(value, "big")
    if isinstance(value, str):
        return _parsed(value.strip())
    try:
        # Integers of NumPy are numbers, fractions are not: nothing is cut off without a word.
        result = operator.index(value)
    except TypeError:
        raise TypeError(f"{value!r} is no whole number; values of P4 are written as bits") from None
    if result < 0:
        raise ValueError(f"{result} is negative; values of P4 are written as bits, from 0 on")
    return result


U16, U32, U64 = 2**16 - 1, 2**32 - 1, 2**64 - 1
"""The largest numbers of 16, 32 and 64 bits."""


def within(what: str, value: int, most: int) -> int:
    """A whole number from 0 to `most`.

    >>> within("port", 5, 5)
    5
    >>> within("port", -1, 5)
    Traceback (most recent call last):
    ValueError: port = -1 must be at least 0 and at most 5
    """
    result = operator.index(value)
    if not 0 <= result <= most:
        raise ValueError(f"{what} = {result} must be at least 0 and at most {most}")
    return result


def _parsed(text: str) -> int:
    if _MAC.fullmatch(text):
        return int(re.sub("[:-]", "", text), 16)
    try:
        if "." in text or ":" in text:
            return int(ipaddress.ip_address(text))
        result = int(text, 0) if not text.isdecimal() else int(text)
    except ValueError:
        raise ValueError(f"{text!r} is no number; write 17, 0x11, 10.0.0.1, fe80::1 or 02:00:00:00:00:01") from None
    if result < 0:
        raise ValueError(f"{text} is negative; values of P4 are written as bits, from 0 on")
    return result


def pairs(mapping: Mapping[str, Any], what: str) -> Iterable[tuple[str, Any]]:
    """Names and values of a mapping that the user gives.

    >>> pairs([1], "arguments of an action")
    Traceback (most recent call last):
    TypeError: arguments of an action are a mapping from names to values, not list
    """
    if not isinstance(mapping, Mapping):
        raise TypeError(f"{what} are a mapping from names to values, not {type(mapping).__name__}")
    return mapping.items()


Field = tuple[str, str, int, int | None]


def key_fields(key: Mapping[str, Match]) -> list[Field]:
    """A key in the form for the Rust part."""
    return [field for name, match in pairs(key, "fields of a key") if (field := _field(name, match)) is not None]


def _field(name: str, match: Match) -> Field | None:
    match match:
        case None:
            return None
        case Prefix(value, length):
            return name, "prefix", number(value), number(length)
        case Masked(value, mask):
            return name, "masked", number(value), number(mask)
        case Range(low, high):
            return name, "range", number(low), number(high)
        case str() if "&&&" in match:
            value, mask = match.split("&&&", 1)
            return name, "masked", number(value), number(mask)
        case str() if ".." in match:
            low, high = match.split("..", 1)
            return name, "range", number(low), number(high)
        case str() if "/" in match:
            value, bits = match.split("/", 1)
            return name, "prefix", number(value), number(bits)
        case _:
            return name, "value", number(match), None


def read_match(kind: str, first: int | None, second: int | None) -> Match:
    """A key field as the Rust part gives it."""
    match kind:
        case "lpm":
            return Prefix(first or 0, second or 0)
        case "ternary":
            return Masked(first or 0, second or 0)
        case "range":
            return Range(first or 0, second or 0)
        case _:
            return first
