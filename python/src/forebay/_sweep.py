"""A scenario at many points: combinations of parameters, and seeds."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay import _native
from forebay._errors import FileError
from forebay._extras import needed
from forebay._simulation import Results, Scenario, SearchResults, arrow, as_given, read_scenario
from forebay._values import within

__all__ = ["Point", "Sweep", "sweep"]

_SEED_MAX = 2**63 - 1
"""The largest seed of a point: `Sweep.seeds` is an array of `int64`."""

_OWN_COLUMNS = ("point", "seed", "measure", "sample", "value")
"""Columns of a sweep's table that are no parameters."""

# A text is looked for from each quotation mark on, since nothing tells whether the mark begins a text or ends one.
_QUOTED = [re.compile(rf"(?={mark}([^{mark}\n]+){mark})") for mark in ('"', "'")]


@dataclass(frozen=True)
class Point:
    """A combination of parameters with a seed."""

    parameters: Mapping[str, str]
    """Every parameter of the scenario, those that are derived too, as it stands in the text."""
    seed: int | None
    """`None` for the scenario's own."""


@dataclass(frozen=True)
class _Work:
    """A point as a process simulates it."""

    text: str
    name: str
    folder: str
    given: tuple[tuple[str, str], ...]
    seed: int | None
    find_max: bool
    ignore_fit: str | None
    file: str | None
    """Where what was found is kept."""

    def do(self) -> str:
        setup = _native.Setup(self.text, self.name, self.folder, list(self.given), self.ignore_fit)
        found = setup.find_max(self.seed) if self.find_max else setup.run(self.seed, None)
        if self.file is not None:
            _write_whole(Path(self.file), found)
        return found


def _do(place: int, work: _Work) -> tuple[int, str]:
    return place, work.do()


def _write_whole(path: Path, text: str) -> None:
    """Writes a file that is either there with all of the text or not at all."""
    try:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".part", delete=False, encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {error}") from error


class Sweep:
    """What a sweep has found, point by point in order: the first parameter changes slowest, then the next, the seed fastest."""

    def __init__(self, points: Sequence[Point], found: Sequence[Results | SearchResults]) -> None:
        self.points = points
        self.results = found
        """Results of each point."""

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[tuple[Point, Results | SearchResults]]:
        return zip(self.points, self.results, strict=True)

    def __getitem__(self, measure: str) -> NDArray[np.float64]:
        """A number of every point, by its place in the results: shape `(points,)`; not a number where a point has none."""
        if self.results and not any(measure in found._places for found in self.results):
            self.results[0][measure]
        return np.array([found.get(measure) for found in self.results], dtype=np.float64)

    def parameter(self, name: str) -> NDArray[Any]:
        """A parameter at every point, as numbers if all are, otherwise as texts: shape `(points,)`."""
        known = self.points[0].parameters if self.points else {}
        if self.points and name not in known:
            raise KeyError(f"there is no parameter {name!r}; there are {', '.join(known) or 'none'}")
        texts = [point.parameters[name] for point in self.points]
        try:
            return np.array([float(text) for text in texts], dtype=np.float64)
        except ValueError:
            return np.array(texts, dtype=object)

    @property
    def seeds(self) -> NDArray[np.int64]:
        """The seed of every point; -1 for the scenario's own: shape `(points,)`."""
        return np.array([-1 if point.seed is None else point.seed for point in self.points], dtype=np.int64)

    def table(self) -> dict[str, NDArray[Any]]:
        """Every number of every point as columns: `point` (its place), `seed`, a column for each parameter, `measure`, `sample` (-1
        for a number that is no series), `value`. Parameters that are called as one of these have `parameter_` before their name."""
        parts = [found.table() for found in self.results]
        lengths = [len(part["value"]) for part in parts]
        columns: dict[str, NDArray[Any]] = {
            "point": np.repeat(np.arange(len(self), dtype=np.int64), lengths),
            "seed": np.repeat(self.seeds, lengths),
        }
        for name in self.points[0].parameters if self.points else ():
            column = f"parameter_{name}" if name in _OWN_COLUMNS else name
            columns[column] = np.repeat(self.parameter(name), lengths)
        for name in ("measure", "sample", "value"):
            columns[name] = np.concatenate([part[name] for part in parts]) if parts else np.array([])
        return columns

    def to_arrow(self) -> Any:
        """`table()` as a `pyarrow.Table`; needs pyarrow (`pip install 'forebay[parquet]'`)."""
        return arrow(self.table())

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes `table()` as a Parquet file; needs pyarrow (`pip install 'forebay[parquet]'`)."""
        [parquet] = needed("parquet", "pyarrow.parquet")
        try:
            parquet.write_table(self.to_arrow(), path)
        except OSError as error:
            raise FileError(f"cannot write {os.fspath(path)}: {error}") from error

    def __repr__(self) -> str:
        return f"<Sweep of {len(self)} points>"


def sweep(
    scenario: Scenario,
    parameters: Mapping[str, Iterable[object]] | None = None,
    *,
    seeds: int | Iterable[int] | None = None,
    find_max: bool = False,
    processes: int | None = None,
    dask: str | object | None = None,
    out: str | os.PathLike[str] | None = None,
    retries: int = 2,
    folder: str | os.PathLike[str] | None = None,
    ignore_fit: str | None = None,
) -> Sweep:
    """Simulates a scenario at every combination of parameters and seeds. The results are the same, byte for byte, however many
    processes or machines work.

    Parameters
    ----------
    scenario
        As of `Simulation`.
    parameters
        Values of parameters in place of those in the file. A parameter with several values in the file has them all.
    seeds
        The number of seeds from 0 on, or the seeds; by default that of the scenario.
    find_max
        Searches the highest load without loss at each point, in place of a run.
    processes
        The number of processes (of joblib); by default one for each processor. 1 works in this process.
    dask
        The address of a Dask scheduler, or a client: its workers work in place of processes. They need this package, and the
        scenario's files at the same paths.
    out
        A folder in which what a point has found is kept as soon as it is found. The same sweep with the same folder goes on where it
        was interrupted. A point is known by scenario, parameters, seed, version of the package, and the contents of the files that the
        scenario names; of files that programs include only the names count, so remove the folder when those change.
    retries
        How often work is given to new processes when one was killed, for example by the system because memory was short.

    Raises
    ------
    ScenarioError
        Everything that is wrong with the first point that has mistakes.

    >>> from forebay import examples, sweep
    >>> found = sweep(examples.path("queue.toml"), {"LOAD": [20, 60]}, seeds=2, processes=1)
    >>> found.parameter("LOAD").tolist(), found.seeds.tolist()
    ([20.0, 20.0, 60.0, 60.0], [0, 1, 0, 1])
    >>> (found["outputs.switch:1.gbps"] > 45).tolist()
    [False, False, True, True]
    """
    for option, value, least in (("processes", processes, 1), ("retries", retries, 0)):
        if value is not None and index(value) < least:
            raise ValueError(f"{option} = {value} must be at least {least}")
    if not (dask is None or isinstance(dask, str) or hasattr(dask, "submit")):
        raise TypeError(f"dask is the address of a scheduler or a distributed.Client, not {type(dask).__name__}")
    text, name, folder = read_scenario(scenario, folder)
    # Processes are kept from one sweep to the next, in the working folder that this process had when they began.
    folder = os.path.abspath(folder)
    points, given, cases = _points(text, name, parameters or {}, seeds)
    kept = None if out is None else Path(out).absolute()
    if kept is not None:
        _native.make_folder(kept)
    digests: dict[Path, str | None] = {}
    works = []
    for point, values, case in zip(points, given, cases, strict=True):
        file = None
        if kept is not None:
            named = _named_files(case, Path(folder), digests)
            identity = json.dumps([_native.VERSION, text, values, point.seed, find_max, ignore_fit, named])
            file = str(kept / f"{hashlib.sha256(identity.encode()).hexdigest()[:32]}.json")
        works.append(_Work(text, name, folder, values, point.seed, find_max, ignore_fit, file))
    found = _kept(works)
    missing = {place: work for place, work in enumerate(works) if place not in found}
    doing = _by_dask(missing, dask) if dask is not None else _by_processes(missing, processes, retries)
    for place, text_found in doing:
        found[place] = text_found
    made = SearchResults if find_max else Results
    return Sweep(points, [made(found[place]) for place in range(len(works))])


def _points(
    text: str, name: str, parameters: Mapping[str, Iterable[object]], seeds: int | Iterable[int] | None
) -> tuple[list[Point], list[tuple[tuple[str, str], ...]], list[str]]:
    """Every point, the values that make it, and the scenario's text with them."""
    if isinstance(seeds, int | np.integer) and seeds < 1:
        raise ValueError(f"seeds = {seeds} must be at least 1")
    each_seed: list[int | None]
    if seeds is None:
        each_seed = [None]
    elif isinstance(seeds, int | np.integer):
        each_seed = list(range(seeds))
    else:
        each_seed = [within("seed", seed, _SEED_MAX) for seed in seeds]
    values = {key: [values] if isinstance(values, str) else list(values) for key, values in parameters.items()}
    empty = [key for key, chosen in {**values, "seeds": each_seed}.items() if not chosen]
    if empty:
        raise ValueError(f"{empty[0]} has no values: there is nothing to simulate")
    points, given, cases = [], [], []
    for chosen in itertools.product(*values.values()):
        said = as_given(dict(zip(values, chosen, strict=True)))
        for case, of_case in _native.expand(text, name, said):
            for seed in each_seed:
                points.append(Point(case, seed))
                given.append(tuple(case.items()))
                cases.append(of_case)
    return points, given, cases


def _named_files(text: str, folder: Path, known: dict[Path, str | None]) -> str:
    """A digest of the files that a scenario without parameters names. Those of files are added to `known`."""
    digest = hashlib.sha256()
    for path in sorted({path for quoted in _QUOTED for path in quoted.findall(text)}):
        file = folder / path
        if file not in known:
            try:
                known[file] = hashlib.sha256(file.read_bytes()).hexdigest()
            except (OSError, ValueError):
                known[file] = None
        if known[file] is not None:
            digest.update(json.dumps([path, known[file]]).encode())
    return digest.hexdigest()


def _kept(works: Sequence[_Work]) -> dict[int, str]:
    """What was found before, by place. A file that is damaged was not found."""
    found = {}
    for place, work in enumerate(works):
        if work.file is not None and os.path.exists(work.file):
            text = _native.read_text(work.file, "point of a sweep")
            with contextlib.suppress(ValueError):
                if isinstance(json.loads(text), dict):
                    found[place] = text
    return found


def _by_processes(missing: dict[int, _Work], processes: int | None, retries: int) -> Iterator[tuple[int, str]]:
    import joblib
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    if processes == 1 or len(missing) <= 1:
        yield from (_do(place, work) for place, work in missing.items())
        return
    missing = dict(missing)
    for attempt in range(retries + 1):
        parallel = joblib.Parallel(
            # One process for each point is enough: joblib starts as many as requested.
            n_jobs=min(processes or joblib.cpu_count(), len(missing)),
            return_as="generator_unordered",
            pre_dispatch="all",
            batch_size=1,
        )
        try:
            for place, text in parallel(joblib.delayed(_do)(place, work) for place, work in missing.copy().items()):
                del missing[place]
                yield place, text
            return
        except TerminatedWorkerError:
            if attempt == retries:
                raise


def _by_dask(missing: dict[int, _Work], dask: str | object) -> Iterator[tuple[int, str]]:
    [distributed] = needed("dask", "dask.distributed")
    client: Any = distributed.Client(dask) if isinstance(dask, str) else dask
    try:
        futures = [client.submit(_do, place, work, pure=False) for place, work in missing.items()]
        for future in distributed.as_completed(futures):
            yield future.result()
    finally:
        if isinstance(dask, str):
            client.close()
