"""Programs: compiled P4, and what it declares."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from forebay import _native
from forebay._errors import ProgramWarning
from forebay._extras import needed

if TYPE_CHECKING:
    from forebay.packets import Codec

__all__ = [
    "Action",
    "ActionProfile",
    "Counter",
    "Header",
    "HeaderField",
    "KeyField",
    "Meter",
    "Parameter",
    "Program",
    "Register",
    "TableInfo",
    "compile",
]

Defines = Mapping[str, object] | Sequence[str] | str


@dataclass(frozen=True)
class Parameter:
    """A parameter of an action, which entries give."""

    name: str
    width: int
    """Bits."""


@dataclass(frozen=True)
class Action:
    """An action that entries of a table can name."""

    name: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class KeyField:
    """A field of a table's key."""

    name: str
    width: int
    """Bits."""
    match_kind: str
    """`exact`, `lpm`, `ternary`, `range`, `optional` or `selector`."""


@dataclass(frozen=True)
class TableInfo:
    """A table as the program declares it."""

    name: str
    keys: tuple[KeyField, ...]
    actions: tuple[Action, ...]
    size: int
    """Entries that it holds."""
    constant: bool
    """Whether the program gives its entries, and nothing may change them."""
    action_profile: str | None
    direct_counter: str | None
    direct_meter: str | None


@dataclass(frozen=True)
class Register:
    """An array of registers as the program declares it."""

    name: str
    width: int
    """Bits of an element."""
    size: int
    """Elements."""


@dataclass(frozen=True)
class Counter:
    """An array of counters, or with `size` `None` the direct counter of a table."""

    name: str
    size: int | None
    unit: str
    """`packets`, `bytes` or `packets and bytes`."""
    elements: list[str]
    """The names of its elements, where the program gives them by `@element_names`."""


@dataclass(frozen=True)
class Meter:
    """An array of meters, or with `size` `None` the direct meter of a table."""

    name: str
    size: int | None
    unit: str
    """`packets` or `bytes`."""


@dataclass(frozen=True)
class ActionProfile:
    """An action profile, or with `selector` an action selector."""

    name: str
    size: int
    selector: bool


@dataclass(frozen=True)
class HeaderField:
    """A field of a header."""

    name: str
    width: int
    """Bits; of a `varbit` field the most that it may have."""
    signed: bool
    varbit: bool


@dataclass(frozen=True)
class Header:
    """A header that the program's parser may extract: `hdr.ipv4`, `hdr.mpls[2]`."""

    name: str
    type: str
    fields: tuple[HeaderField, ...]

    @property
    def width(self) -> int:
        """Bits of all fields."""
        return sum(field.width for field in self.fields)


class Program:
    """A compiled P4 program. `compile` makes one."""

    def __init__(self, native: _native.Program, path: str | None) -> None:
        self._native = native
        self._described: dict[str, Any] = json.loads(native.describe())
        self.path = path
        """The file that was compiled; `None` for a text."""

    @property
    def architecture(self) -> str:
        """`v1model`, `psa` or `pna`."""
        return str(self._described["architecture"])

    @cached_property
    def tables(self) -> dict[str, TableInfo]:
        """Tables by their full names."""
        return {table.name: table for table in map(_table, self._described["tables"])}

    @cached_property
    def registers(self) -> dict[str, Register]:
        """Register arrays by their full names."""
        return {it["name"]: Register(**it) for it in self._described["registers"]}

    @cached_property
    def counters(self) -> dict[str, Counter]:
        """Counters by their full names."""
        return {it["name"]: Counter(**it) for it in self._described["counters"]}

    @cached_property
    def meters(self) -> dict[str, Meter]:
        """Meters by their full names."""
        return {it["name"]: Meter(**it) for it in self._described["meters"]}

    @cached_property
    def action_profiles(self) -> dict[str, ActionProfile]:
        """Action profiles and selectors by their full names."""
        return {it["name"]: ActionProfile(**it) for it in self._described["action_profiles"]}

    @property
    def calculations(self) -> dict[str, str]:
        """Hashes whose parameters `Switch.set_crc_parameters` changes, by the names that p4c gives them: `crc16_custom` or `crc32_custom`."""
        return dict(self._described["calculations"])

    @cached_property
    def headers(self) -> dict[str, Header]:
        """Headers by their full names."""
        return {header.name: header for header in map(_header, self._described["headers"])}

    @property
    def p4info(self) -> str | None:
        """The P4Info in text form, as `forebay build` writes it; `None` for a program that was compiled before without one."""
        return self._native.p4info()

    def p4info_message(self) -> Any:
        """The P4Info as a message of the package p4runtime (`pip install 'forebay[p4runtime]'`), a `p4.config.v1.p4info_pb2.P4Info`, with
        which a P4Runtime client builds its requests; `None` where `p4info` is.

        >>> from forebay import compile, examples
        >>> info = compile(examples.path("router.p4")).p4info_message()
        >>> [table.preamble.alias for table in info.tables]
        ['ipv4_lpm']
        """
        text = self.p4info
        if text is None:
            return None
        messages, text_format = needed("p4runtime", "p4.config.v1.p4info_pb2", "google.protobuf.text_format")
        return text_format.Parse(text, messages.P4Info())

    @property
    def ir(self) -> str:
        """The text of what executes, as `forebay build` writes it."""
        return self._native.ir()

    @property
    def warnings(self) -> str:
        """The compiler's warnings about a program without errors; empty when there are none."""
        return self._native.warnings()

    @property
    def diagnostics(self) -> list[dict[str, Any]]:
        """The compiler's messages one by one, as `CompileError.diagnostics`."""
        report: dict[str, Any] = json.loads(self._native.diagnostics())
        return list(report["diagnostics"])

    @cached_property
    def packets(self) -> Codec:
        """Builds and reads packets of the program's own headers: see `forebay.packets`."""
        from forebay.packets import Codec

        return Codec(self)

    def __repr__(self) -> str:
        return f"<Program {self.path or 'of a text'}: {self.architecture}, {len(self.tables)} tables>"


def compile(
    source: str | os.PathLike[str],
    *,
    include: Sequence[str | os.PathLike[str]] | str | os.PathLike[str] = (),
    define: Defines = (),
    strict: bool = False,
    name: str | None = None,
) -> Program:
    """Compiles a program: P4_16 source, JSON that p4c has made of it for BMv2, or IR text of `forebay build`.

    Parameters
    ----------
    source
        A file; or the program itself, which a string of several lines is.
    include
        A folder or several in which `#include` looks, before the architectures that are built in.
    define
        Macros of the preprocessor: `{"N": 8}`, `["N=8", "DEBUG"]`, or one as `"DEBUG"`.
    strict
        Takes warnings for errors.
    name
        Of a program that is given as text: what stands for its file in messages.

    Warns
    -----
    ProgramWarning
        The program is accepted, and probably not what is meant; `Program.warnings` has the same text.

    Raises
    ------
    CompileError
        The program has mistakes.
    FileError
        It cannot be read.

    >>> from forebay import compile, examples
    >>> program = compile(examples.path("router.p4"))
    >>> program.tables["Routing.ipv4_lpm"].keys
    (KeyField(name='hdr.ipv4.dst_addr', width=32, match_kind='lpm'),)
    >>> compile("control c() {\\n  apply { x = 1; }\\n}")
    Traceback (most recent call last):
    forebay._errors.CompileError: error[E0201]: no value named `x` is declared here
    ...
    """
    folders = [os.fspath(folder) for folder in ([include] if isinstance(include, str | os.PathLike) else include)]
    macros = _macros(define)
    if isinstance(source, str) and "\n" in source:
        native = _native.compile_text(source, name or "program.p4", folders, macros, strict)
        program = Program(native, None)
    else:
        program = Program(_native.compile_file(source, folders, macros, strict), os.fspath(source))
    if program.warnings:
        warnings.warn(program.warnings, ProgramWarning, stacklevel=2)
    return program


def _macros(define: Defines) -> list[str]:
    if isinstance(define, str):
        return [define]
    if isinstance(define, Mapping):
        return [f"{key}={value}" for key, value in define.items()]
    if not isinstance(define, Sequence):
        raise TypeError(f"macros are a mapping, a list of NAME=VALUE, or one of these, not {type(define).__name__}")
    return list(define)


def _table(described: dict[str, Any]) -> TableInfo:
    keys = tuple(KeyField(**key) for key in described["keys"])
    actions = tuple(
        Action(action["name"], tuple(Parameter(**it) for it in action["parameters"])) for action in described["actions"]
    )
    return TableInfo(**{**described, "keys": keys, "actions": actions})


def _header(described: dict[str, Any]) -> Header:
    fields = tuple(HeaderField(**field) for field in described["fields"])
    return Header(described["name"], described["type"], fields)
