"""The tester: traffic for a program, a chip or interfaces, and what becomes of every frame."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay import _native
from forebay._simulation import Scenario, read_scenario

__all__ = ["TestResults", "Tester"]


class TestResults:
    """What a test has shown, as `forebay tester --json` prints it."""

    # pytest would collect a class with this name as a test.
    __test__ = False

    def __init__(self, text: str) -> None:
        self.text = text
        """The results as JSON. On a chip the same test and seed give the same bytes."""
        self.data: dict[str, Any] = json.loads(text)
        """The results as dictionaries and lists; docs/tester.md has every key."""

    @property
    def streams(self) -> list[dict[str, Any]]:
        """Every stream of every trial, in order."""
        return [stream for trial in self.data["trials"] for stream in trial["streams"]]

    @property
    def paths(self) -> list[dict[str, Any]]:
        """Every port at which a stream of a trial comes out, in order, with the stream's name as `stream`."""
        return [{"stream": stream["name"], **path} for stream in self.streams for path in stream["paths"]]

    def column(self, *place: str) -> NDArray[np.float64]:
        """A number of every path by its place, of shape `(paths,)`; not a number where a path has none.

        `column("lost")`, `column("latency", "p99_ns")`.
        """

        def at(path: dict[str, Any]) -> float:
            value: Any = path
            for key in place:
                value = value.get(key) if isinstance(value, dict) else None
            return float(value) if isinstance(value, int | float) else float("nan")

        return np.array([at(path) for path in self.paths], dtype=np.float64)

    def compare(self, after: TestResults) -> list[dict[str, Any]]:
        """Differences from these results to others, with confidence intervals, as `forebay tester compare --json` prints them."""
        differences: list[dict[str, Any]] = json.loads(_native.compare_tests(self.text, after.text)[0])
        return differences

    def html(self) -> str:
        """A page with text and pictures."""
        return _native.test_report(self.text, True)

    def __str__(self) -> str:
        return _native.test_report(self.text, False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TestResults) and self.text == other.text

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<TestResults: {len(self.data['trials'])} trials, {len(self.streams)} streams>"


class Tester:
    """A test, read and checked: `forebay tester` in this process.

    Parameters
    ----------
    test
        A TOML file, or what would be in one as mappings and lists. docs/tester.md has every key.
    folder
        The folder of the files that the test names; by default that of the test.
    chip
        Runs the program on this chip of the timed model, in simulated time: same test and seed, same results.
    ignore_fit
        A reason to time a program that does not fit the chip; it stands in the results.
    interfaces
        Tests what is between these interfaces (`"1@veth0"`), in place of the device of the file. Needs the rights of `forebay run`.
    wire
        Tests a wire in memory: what the tester itself can do.

    Raises
    ------
    TestError
        Everything that is wrong, with line numbers, before any frame is sent.

    >>> from forebay import Tester, examples
    >>> results = Tester(examples.path("router_test.toml"), chip="v1model-ideal").run()
    >>> results.column("lost").tolist()
    [0.0]
    """

    # pytest would collect a class with this name as a test.
    __test__ = False

    def __init__(
        self,
        test: Scenario,
        *,
        folder: str | os.PathLike[str] | None = None,
        chip: str | None = None,
        ignore_fit: str | None = None,
        interfaces: Sequence[str] = (),
        wire: bool = False,
    ) -> None:
        if (chip is not None) + bool(interfaces) + wire > 1:
            raise ValueError("chip, interfaces and wire are three devices: choose one")
        text, name, folder = read_scenario(test, folder, "test")
        self._test = _native.Test(text, name, folder, list(interfaces), wire, chip, ignore_fit)

    def run(self) -> TestResults:
        """Sends the traffic, and measures every frame that comes back. The interpreter's lock is released meanwhile; an interrupt
        (ctrl-C) ends the test."""
        return TestResults(self._test.run())

    def search(self) -> TestResults:
        """Searches the highest load for the goals of the file (MLRsearch)."""
        return TestResults(self._test.search())

    def rfc2544(self) -> TestResults:
        """Throughput, latency, loss and back-to-back frames after RFC 2544 and RFC 9004, for each frame size."""
        return TestResults(self._test.rfc2544())
