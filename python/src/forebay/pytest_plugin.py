"""Fixtures of pytest for P4 programs, and STF files as tests.

A mark names the program of a test, or `P4_PROGRAM` that of a module; paths are relative to the test's file:

    @pytest.mark.p4("router.p4", define={"N": 8}, entries="entries.stf", ports=4)
    def test_packets_without_a_route_are_dropped(switch):
        assert_output(switch, bytes(64), {})

* fixture `switch`: a switch that was just loaded with it
* fixture `p4_program`: the program, compiled once for a session
* fixture `assert_output`: `forebay.testing.assert_output`
* `pytest --stf`, or `stf = true` in the configuration: STF files that have a program are tests
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from forebay import Program, Switch, compile
from forebay import testing as _testing

__all__: list[str] = []

_OF_COMPILE = ("define", "include", "strict")
_OF_SWITCH = ("ports", "engine", "seed", "memory_limit_bytes")

_COMPILED = pytest.StashKey[dict[tuple[str, str], Program]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the command line and of the configuration."""
    parser.getgroup("forebay").addoption("--stf", action="store_true", help="collect STF files that have a P4 program")
    parser.addini("stf", "collect STF files that have a P4 program", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Registers the mark."""
    config.addinivalue_line(
        "markers",
        "p4(program, define=None, include=(), strict=False, entries=None, **switch): the P4 program of fixture `switch`",
    )
    config.stash[_COMPILED] = {}


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collects STF files, if requested."""
    config = parent.config
    if file_path.suffix != ".stf" or not (config.getoption("--stf") or config.getini("stf")):
        return None
    program = _testing.program_of(file_path)
    if program is None:
        return None
    collected = StfFile.from_parent(parent, path=file_path)
    collected.test = _testing.StfTest(file_path, program)
    return collected


class StfFile(pytest.File):
    """An STF file."""

    test: _testing.StfTest

    def collect(self) -> Iterator[pytest.Item]:
        """Its only test."""
        item = StfItem.from_parent(self, name=self.path.stem)
        item.test = self.test
        yield item


class StfItem(pytest.Item):
    """An STF file as a test."""

    test: _testing.StfTest

    def runtest(self) -> None:
        """Runs it in both engines."""
        result = self.test.run()
        if not result.passed:
            raise AssertionError("\n".join(result.failures))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """What failed, without the Python around it."""
        return str(excinfo.value)

    def reportinfo(self) -> tuple[os.PathLike[str], int, str]:
        """Where it is."""
        return self.path, 0, self.name


def _asked(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """The program that a test requests, and how it is compiled and loaded."""
    mark = request.node.get_closest_marker("p4")
    path = mark.args[0] if mark and mark.args else getattr(request.module, "P4_PROGRAM", None)
    if path is None:
        raise pytest.UsageError(
            "which program? Mark the test with @pytest.mark.p4(FILE), or set P4_PROGRAM in its module"
        )
    options = dict(mark.kwargs) if mark else {}
    unknown = sorted(set(options) - {*_OF_COMPILE, *_OF_SWITCH, "entries"})
    if unknown:
        known = ", ".join((*_OF_COMPILE, *_OF_SWITCH, "entries"))
        raise pytest.UsageError(f"the mark p4 has no option {unknown[0]!r}; there are {known}")
    return str(request.path.parent / path), options


@pytest.fixture
def p4_program(request: pytest.FixtureRequest) -> Program:
    """The program of the test's mark `p4` or of the module's `P4_PROGRAM`."""
    path, options = _asked(request)
    compiled = request.config.stash[_COMPILED]
    how = {key: options[key] for key in _OF_COMPILE if key in options}
    if "include" in how:
        include = how["include"]
        folders = [include] if isinstance(include, str | os.PathLike) else include
        how["include"] = [request.path.parent / folder for folder in folders]
    key = path, repr(how)
    if key not in compiled:
        compiled[key] = compile(path, **how)
    return compiled[key]


@pytest.fixture
def switch(request: pytest.FixtureRequest, p4_program: Program) -> Switch:
    """A switch that was just loaded with the test's program, and with the entries that its mark names."""
    _, options = _asked(request)
    of_switch = {key: value for key, value in options.items() if key in _OF_SWITCH}
    made = Switch(p4_program, **of_switch)
    if "entries" in options:
        made.apply_file(request.path.parent / options["entries"])
    return made


@pytest.fixture
def assert_output() -> Callable[..., Any]:
    """`forebay.testing.assert_output`."""
    return _testing.assert_output
