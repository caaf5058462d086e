"""Mappings and lists as TOML."""

import json
import re
from collections.abc import Mapping, Sequence

import numpy as np

__all__ = ["written"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def written(table: Mapping[str, object]) -> str:
    """The text of a TOML file with these keys.

    >>> print(written({"description": "two", "chip": [{"name": "a", "port": [{"numbers": [1, 2], "loopback": True}]}]}), end="")
    description = "two"
    chip = [{name = "a", port = [{numbers = [1, 2], loopback = true}]}]
    """
    try:
        return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in table.items())
    except RecursionError:
        raise ValueError("a scenario's mappings and lists are nested without end, or too deep") from None


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"keys of a scenario are texts, not {key!r}")
    return key if _BARE.fullmatch(key) else _text(key)


def _text(value: str) -> str:
    """Escapes of JSON are those of TOML but for halves of a character, of which JSON makes one beyond 16 bits, and for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: object) -> str:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_value(inner) for inner in value) + "]"
    raise TypeError(f"a scenario holds numbers, texts, lists and mappings, not {type(value).__name__}")
