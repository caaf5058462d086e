"""Scenarios on the timed model of switch silicon."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay import _native
from forebay._errors import ScenarioError
from forebay._extras import needed
from forebay._toml import written
from forebay._values import U64, within

__all__ = ["Departures", "Results", "Scenario", "SearchResults", "Simulation"]

Scenario = str | os.PathLike[str] | Mapping[str, Any]
"""A file in TOML, or what would be in one as mappings and lists."""


def read_scenario(
    scenario: Scenario, folder: str | os.PathLike[str] | None, what: str = "scenario"
) -> tuple[str, str, str]:
    """Text, name for messages, and folder of a scenario, or of `what` else is written like one."""
    if isinstance(scenario, Mapping):
        return written(scenario), what, os.fspath(folder or "")
    path = Path(scenario)
    text = _native.read_text(path, what)
    return text, os.fspath(path), os.path.dirname(path) if folder is None else os.fspath(folder)


def as_given(parameters: Mapping[str, object]) -> list[tuple[str, str]]:
    """Values of parameters as the scenario's text would have them."""
    return [(name, _one(value)) for name, value in parameters.items()]


def _one(value: object) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def arrow(columns: Mapping[str, NDArray[Any]]) -> Any:
    """Columns as a `pyarrow.Table`: objects are texts or none, masked numbers are none. So the types are those of the columns, whatever
    is in them."""
    [pyarrow] = needed("parquet", "pyarrow")
    arrays = {
        name: pyarrow.array(values, pyarrow.string() if values.dtype == object else None)
        for name, values in columns.items()
    }
    return pyarrow.table(arrays)


class _Numbers:
    """Results as the command's `results.json` has them, and every number of them by its place."""

    _path: str

    def __init__(self, text: str) -> None:
        self.text = text
        """The results as JSON: the same scenario and seed give the same bytes on every machine."""
        self.data: dict[str, Any] = json.loads(text)
        """The results as dictionaries and lists."""

    @cached_property
    def _rows(self) -> tuple[list[str], NDArray[np.int64], NDArray[np.float64]]:
        return _native.rows(self._path, self.text)

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for index, measure in enumerate(self._rows[0]):
            places.setdefault(measure[len(self._path) + 1 :], []).append(index)
        return places

    @property
    def measures(self) -> list[str]:
        """The places of all numbers: `sources.in.latency.mean_ns`, `outputs.switch:1.gbps`, ... Elements of lists are named by
        their name, or by their port, else by their number."""
        return list(self._places)

    def __getitem__(self, measure: str) -> float:
        """The number at a place."""
        return float(self._rows[2][self._found(measure)[0]])

    def series(self, measure: str) -> NDArray[np.float64]:
        """The series at a place, of shape `(samples,)`: `outputs.switch:1.samples_gbps`."""
        return self._rows[2][self._found(measure)]

    def get(self, measure: str, default: float = float("nan")) -> float:
        """The number at a place; `default` when there is none."""
        return self[measure] if measure in self._places else default

    def _found(self, measure: str) -> list[int]:
        try:
            return self._places[measure]
        except KeyError:
            last = measure.rsplit(".", 1)[-1]
            near = [known for known in self._places if known.endswith(last)] or list(self._places)
            raise KeyError(f"there is no number {measure!r}; there are {', '.join(near[:8])}") from None

    def table(self) -> dict[str, NDArray[Any]]:
        """Every number as columns: `measure`, `sample` (-1 for a number that is no series) and `value`, as in the Parquet file of
        `forebay sim --parquet`."""
        measures, samples, values = self._rows
        return {"measure": np.array(measures, dtype=object), "sample": samples, "value": values}

    def to_arrow(self) -> Any:
        """`table()` as a `pyarrow.Table`; needs pyarrow (`pip install 'forebay[parquet]'`)."""
        return arrow(self.table())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.text == other.text

    __hash__ = None  # type: ignore[assignment]


class Results(_Numbers):
    """What a run has shown.

    Numbers are found by their places: rates in Gbps on the wire, times in the unit of their names.
    """

    _path = "results"

    @property
    def lost(self) -> int:
        """Packets that chips have lost, all reasons together."""
        return sum(count for chip in self.data["chips"] for count in chip["lost"].values())

    def __repr__(self) -> str:
        return f"<Results of {self.data['description']!r}: {len(self.measures)} numbers>"


class SearchResults(_Numbers):
    """What a search for the highest load without loss has found."""

    _path = "search"

    @property
    def max_gbps(self) -> float | None:
        """The highest load of each stream without loss, in Gbps; `None` when even the least one loses."""
        value: float | None = self.data["max_gbps"]
        return value

    @property
    def at_least(self) -> bool:
        """Whether the highest load that may be tried lost nothing, so that the limit is at or above it."""
        return bool(self.data["at_least"])

    def __repr__(self) -> str:
        return f"<SearchResults: {self.max_gbps} Gbps>"


class Departures:
    """Frames that left the network, in the order of leaving. All arrays have the shape `(frames,)` and the type int64."""

    def __init__(self, ports: list[str], sources: list[str], table: NDArray[np.int64]) -> None:
        self.ports = ports
        """Names of ports: `chip:port`."""
        self.sources = sources
        """Names of traffic."""
        columns = np.ascontiguousarray(table.T)
        self.port, self.source, self.sequence, self.arrived_ps, self.departed_ps, self.bytes = columns
        """`port`: its place in `ports`. `source`: its place in `sources`, -1 for packets of a timer. `sequence`: which frame of its source it
        was made of, from 0. `arrived_ps`: when the last byte of that frame came in, in picoseconds; -1 when that is not known. `departed_ps`:
        when its own last byte was out. `bytes`: length without preamble and check sequence."""

    def __len__(self) -> int:
        return len(self.port)

    def to_arrow(self) -> Any:
        """A `pyarrow.Table` with the columns of `forebay sim --departures` but `case`; needs pyarrow (`pip install 'forebay[parquet]'`)."""
        ports, sources = np.array(self.ports, dtype=object), np.array([*self.sources, None], dtype=object)
        columns: dict[str, NDArray[Any]] = {"port": ports[self.port], "source": sources[self.source]}
        for name in ("sequence", "arrived_ps", "departed_ps", "bytes"):
            column: NDArray[Any] = getattr(self, name)
            # A packet of a timer was made of no frame.
            columns[name] = np.ma.masked_less(column, 0)
        return arrow(columns)

    def of(self, port: str) -> NDArray[np.bool_]:
        """Which frames left by a port: a mask for the arrays."""
        if port not in self.ports:
            raise KeyError(f"no frame left by {port!r}; ports are {', '.join(self.ports)}")
        mask: NDArray[np.bool_] = self.port == self.ports.index(port)
        return mask

    def __repr__(self) -> str:
        return f"<Departures of {len(self)} frames>"


_MOST_GBPS = 1_000_000


def _check_rate(gbps: float | None) -> None:
    if gbps is not None and not isinstance(gbps, int | float | np.integer | np.floating):
        raise TypeError(f"a rate is a number of Gbps, not {gbps!r}")
    if gbps is not None and not gbps > 0:
        raise ScenarioError(f"a rate of {gbps} Gbps sends nothing")
    if gbps is not None and gbps > _MOST_GBPS:
        raise ScenarioError(f"a rate of {gbps} Gbps is more than the {_MOST_GBPS:,} that a stream may have")


class Simulation:
    """A scenario, read and checked, with one value for each of its parameters.

    Parameters
    ----------
    scenario
        A TOML file, or what would be in one as mappings and lists. docs/scenarios.md has every key.
    folder
        The folder of the files that the scenario names; by default that of the scenario.
    ignore_fit
        A reason to time a program that does not fit its chip; it stands in the results.
    parameters
        Values in place of those in the file.

    Raises
    ------
    ScenarioError
        Everything that is wrong, with line numbers, before anything is simulated.

    >>> from forebay import Simulation, examples
    >>> results = Simulation(examples.path("queue.toml"), LOAD=30).run()
    >>> results.lost, round(results["outputs.switch:1.gbps"])
    (0, 30)
    >>> Simulation(examples.path("queue.toml")).find_max().max_gbps > 30
    True
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        folder: str | os.PathLike[str] | None = None,
        ignore_fit: str | None = None,
        **parameters: object,
    ) -> None:
        text, name, folder = read_scenario(scenario, folder)
        self._setup = _native.Setup(text, name, folder, as_given(parameters), ignore_fit)

    def run(self, *, seed: int | None = None, gbps: float | None = None) -> Results:
        """Simulates; the interpreter's lock is released meanwhile.

        `seed` begins the random numbers in place of the scenario's; `gbps` is the rate of the first stream in place of the scenario's, and
        the others keep their ratio to it.
        """
        _check_rate(gbps)
        return Results(self._setup.run(_seed(seed), gbps))

    def run_with_departures(self, *, seed: int | None = None, gbps: float | None = None) -> tuple[Results, Departures]:
        """Simulates as `run`, and records when each frame came and left.

        >>> from forebay import Simulation, examples
        >>> results, frames = Simulation(examples.path("queue.toml"), LOAD=30).run_with_departures()
        >>> len(frames) == results["outputs.switch:1.frames"], frames.ports
        (True, ['switch:1'])
        >>> bool((frames.departed_ps > frames.arrived_ps).all())
        True
        """
        _check_rate(gbps)
        text, ports, sources, table = self._setup.run_with_departures(_seed(seed), gbps)
        return Results(text), Departures(ports, sources, table)

    def find_max(self, *, seed: int | None = None) -> SearchResults:
        """Searches the highest load without loss, with the settings of `[search]` in the scenario."""
        return SearchResults(self._setup.find_max(_seed(seed)))


def _seed(seed: int | None) -> int | None:
    return None if seed is None else within("seed", seed, U64)
