"""Exceptions. Their text is what the command `forebay` prints."""

import json
from typing import Any

__all__ = [
    "CompileError",
    "ControlError",
    "EndlessError",
    "FileError",
    "ForebayError",
    "InternalError",
    "LoadError",
    "ProgramWarning",
    "ScenarioError",
    "StfError",
    "TestError",
]


class ForebayError(Exception):
    """What Forebay refuses; every exception of the package is one of these, but for `ValueError`, `TypeError`, `OverflowError`, `KeyError`,
    `IndexError` and `AttributeError` of wrong arguments, `MemoryError` of arrays that do not fit into memory, and `ModuleNotFoundError` of
    a package that an extra installs."""


class CompileError(ForebayError):
    """A program has mistakes.

    `str()` is what `forebay check` prints; `diagnostics` holds the messages one by one, as `forebay check --json` does: each with
    `severity`, `code`, `message`, and `spans` with places.
    """

    diagnostics: list[dict[str, Any]]

    def __init__(self, text: str, report: str = "{}") -> None:
        super().__init__(text)
        self.diagnostics = json.loads(report).get("diagnostics", [])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), json.dumps({"diagnostics": self.diagnostics}))


class LoadError(ForebayError):
    """A correct program cannot be loaded: its state needs too much memory, say."""


class ControlError(ForebayError):
    """The tables or objects of a program refuse a request. Nothing was changed."""


class EndlessError(ForebayError):
    """A packet goes round in a switch without end."""


class FileError(ForebayError, OSError):
    """A file cannot be read or written."""


class InternalError(ForebayError):
    """A mistake of Forebay's own, which should be reported with what led to it. A switch in which it occurred refuses every later call."""


class ScenarioError(ForebayError):
    """A scenario or an experiment has mistakes; each is named with its line."""


class StfError(ForebayError):
    """A text is no STF; each mistake is named with its line."""


class TestError(ForebayError):
    """A test file has mistakes, each named with its line, or its device cannot be opened."""

    __test__ = False


class ProgramWarning(UserWarning):
    """The compiler warns about a program that it accepts. The text is that of `Program.warnings`; `compile(strict=True)` refuses the program
    instead."""
