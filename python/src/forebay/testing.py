"""Help for tests of P4 programs, with pytest and without.

`assert_output` checks what a program does with a packet. `run_stf` runs a test in p4c's language. The plugin `forebay.pytest_plugin`, which pytest
finds by itself, has fixtures and collects STF files.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, SupportsBytes

from forebay import _native
from forebay._batch import Packet, octets
from forebay._errors import FileError, StfError
from forebay._program import Program, compile
from forebay._switch import Switch

__all__ = ["Expected", "StfResult", "StfTest", "assert_output", "run_stf", "stf_tests"]

Expected = SupportsBytes | None
"""What must leave a port: these bytes, this packet, or any packet."""

_STF = "STF file"


def assert_output(
    switch: Switch,
    packet: SupportsBytes,
    expected: Mapping[int, Expected | Sequence[Expected]] | Iterable[tuple[int, Expected]],
    *,
    port: int = 0,
) -> list[Packet]:
    """Sends a packet and asserts what leaves: of each port these packets in this order, and none of other ports. Nothing expected is
    a drop. Returns what has left.

    A failure shows the difference field by field, and the packet's way through the program.

    >>> from forebay import Switch, examples
    >>> from forebay.testing import assert_output
    >>> switch = Switch(examples.path("reflector.p4"))
    >>> [left] = assert_output(switch, b"some packet", {4: b"some packet"}, port=4)
    >>> assert_output(switch, b"some packet", {}, port=4)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: port 4 sent a packet that is not expected:
      736f6d65207061636b6574
    <BLANKLINE>
    packet 1 enters port 4, 11 bytes
    ...
    """
    # pytest shows the test, not this function.
    __tracebackhide__ = True
    wanted = _by_port(expected)
    trace = switch.trace(packet, port)
    left: dict[int, list[bytes]] = defaultdict(list)
    for at, data in trace.outputs:
        left[at].append(data)
    problems = []
    for at in sorted({*wanted, *left}):
        problems += _differences(switch.program, at, wanted.get(at, []), left.get(at, []))
    if problems:
        raise AssertionError("\n".join([*problems, "", trace.text.rstrip()]))
    return trace.outputs


def _by_port(
    expected: Mapping[int, Expected | Sequence[Expected]] | Iterable[tuple[int, Expected]],
) -> dict[int, list[Expected]]:
    wanted: dict[int, list[Expected]] = defaultdict(list)
    pairs = expected.items() if isinstance(expected, Mapping) else expected
    for port, packets in pairs:
        # These are sequences, but packets. Before Python 3.11 bytes have no __bytes__ either.
        if isinstance(packets, bytes | bytearray | memoryview):
            wanted[port].append(bytes(packets))
        elif packets is None or isinstance(packets, SupportsBytes):
            wanted[port].append(packets)
        else:
            wanted[port] += packets
    return wanted


def _differences(program: Program, port: int, wanted: list[Expected], left: list[bytes]) -> list[str]:
    problems = []
    for number, (expected, found) in enumerate(zip(wanted, left, strict=False), 1):
        if expected is None or octets(expected) == found:
            continue
        problems.append(f"port {port}, packet {number} differs:")
        problems += [f"  {line}" for line in _fields(program, octets(expected), found)]
    for missing in wanted[len(left) :]:
        problems.append(f"port {port} did not send:\n  {'any packet' if missing is None else octets(missing).hex()}")
    for found in left[len(wanted) :]:
        problems.append(f"port {port} sent a packet that is not expected:\n  {found.hex()}")
    return problems


def _fields(program: Program, expected: bytes, found: bytes) -> list[str]:
    """What differs by fields, expected first; bytes where fields do not show it."""
    codec = program.packets
    lines = codec.parse(expected).differences(codec.parse(found))
    return [*lines, f"expected {expected.hex()}", f"found    {found.hex()}"]


@dataclass(frozen=True)
class StfResult:
    """How an STF test went."""

    failures: list[str]
    """What failed, with file and line; empty when the test has passed."""
    notes: list[str]

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failures


def run_stf(
    program: Program,
    test: str | os.PathLike[str],
    *,
    engine: Literal["both", "jit", "interp"] = "both",
    lenient: bool = False,
) -> StfResult:
    """Runs a test in p4c's language (docs/stf.md) with a freshly loaded program: a file, or the test itself, which a string of several
    lines is.

    `both` engines must do the same. `lenient` permits packets out of ports that the test does not name.

    >>> from forebay import compile, examples
    >>> from forebay.testing import run_stf
    >>> print(run_stf(compile(examples.path("reflector.p4")), "packet 1 0102\\nexpect 1 0103").failures[0])
    test.stf:2: the packet from port 1 (because of line 1) differs: 2 bytes; differing hexadecimal digits: 1
        0: expected 01 03
           received 01 02
                        ^
    """
    if engine not in ("both", "jit", "interp"):
        raise ValueError(f"there is no engine {engine!r}; there are 'both', 'jit' and 'interp'")
    if isinstance(test, str) and "\n" in test:
        text, name = test, "test.stf"
    else:
        text, name = _native.read_text(test, _STF), os.fspath(test)
    return StfResult(*_native.run_stf(program._native, text, name, engine, lenient))


@dataclass(frozen=True)
class StfTest:
    """An STF file with its program."""

    path: Path
    program: Path

    def __str__(self) -> str:
        return self.path.stem

    def run(self, *, engine: Literal["both", "jit", "interp"] = "both") -> StfResult:
        """Compiles the program as the comments `# forebay: -D N=2 -I DIR` of the file say, and runs the test."""
        options = _options(_native.read_text(self.path, _STF), self.path)
        program = compile(self.program, include=options.include, define=options.define, strict=options.strict)
        return run_stf(program, self.path, engine=engine, lenient=options.lenient)


def stf_tests(folder: str | os.PathLike[str]) -> list[StfTest]:
    """The STF files of a folder that have a program: one of the same name, or the only one that lies beside them. Files named
    `entries.stf` hold entries and are no tests.

    For `@pytest.mark.parametrize("test", stf_tests("programs"), ids=str)`.
    """
    if not Path(folder).is_dir():
        raise FileError(f"cannot list {os.fspath(folder)}: it is no folder")
    try:
        paths = sorted(Path(folder).rglob("*.stf"))
    except OSError as error:
        raise FileError(f"cannot list {os.fspath(folder)}: {error}") from error
    found = []
    for path in paths:
        program = program_of(path)
        if program is not None:
            found.append(StfTest(path, program))
    return found


def program_of(path: Path) -> Path | None:
    """The program of an STF file; `None` when it has none."""
    if path.stem == "entries":
        return None
    if path.with_suffix(".p4").exists():
        return path.with_suffix(".p4")
    beside = list(path.parent.glob("*.p4"))
    return beside[0] if len(beside) == 1 else None


@dataclass
class _Options:
    """What comments of an STF file say to the compilation."""

    include: list[str]
    define: list[str]
    strict: bool = False
    lenient: bool = False
    """Whether packets out of other ports are permitted."""


def _options(text: str, path: Path) -> _Options:
    options = _Options([], [])
    for number, line in enumerate(text.split("\n"), 1):
        comment = line.strip()
        said = comment[1:].lstrip()
        if comment.startswith("#") and said.startswith("forebay:"):
            words = iter(said.removeprefix("forebay:").split())
            for word in words:
                value = word[2:] or next(words, "") if word[:2] in ("-D", "-I") else ""
                if word in ("--lenient", "--strict"):
                    setattr(options, word[2:], True)
                elif not value:
                    place = f"{path}:{number}: what follows `# forebay:` are no options of the compilation"
                    raise StfError(f"{place}: {word!r}")
                elif word[:2] == "-D":
                    options.define.append(value)
                else:
                    options.include.append(str(path.parent / value))
    return options
