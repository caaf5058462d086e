"""Files that the command has written, as the objects of this package."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forebay import _native
from forebay._errors import FileError
from forebay._extras import needed
from forebay._simulation import Departures, Results, SearchResults
from forebay._tester import TestResults

__all__ = ["read_departures", "read_results", "read_test_results"]

_Path = str | os.PathLike[str]


def read_results(path: _Path) -> dict[str, Results | SearchResults]:
    """What `forebay sim --out DIR` has written to `DIR/results.json`, or `--json` has printed: results by case (`"N=2 S=22"`, or `""` for a
    scenario without parameters).

    Raises
    ------
    FileError
        The file cannot be read, or has something else in it.
    """
    known: dict[str, type[Results] | type[SearchResults]] = {"results": Results, "search": SearchResults}
    found: dict[str, Results | SearchResults] = {}
    for case in _json(path, list, "results of `forebay sim`"):
        kind = next((kind for kind in known if isinstance(case, dict) and kind in case), None)
        if kind is None or not isinstance(case[kind], dict):
            raise FileError(f"{path} has no results of `forebay sim`")
        found[case.get("case", "")] = known[kind](json.dumps(case[kind], separators=(",", ":")))
    return found


def read_test_results(path: _Path) -> TestResults:
    """What `forebay tester --out FILE` has written."""
    content = _json(path, dict, "results of `forebay tester`")
    is_test = str(content.get("format", "")).startswith("forebay-tester/")
    if not is_test or not isinstance(content.get("trials"), list):
        raise FileError(f"{path} has no results of `forebay tester`")
    return TestResults(json.dumps(content, separators=(",", ":")))


def read_departures(path: _Path) -> dict[str, Departures]:
    """What `forebay sim --departures FILE` has written, by case. Parquet needs pyarrow (`pip install 'forebay[parquet]'`)."""
    columns = _csv(path) if Path(path).suffix == ".csv" else _parquet(path)
    cases, ports, sources = (columns.pop(name) for name in _TEXTS)
    found = {}
    for case in dict.fromkeys(cases):
        chosen = np.array([each == case for each in cases], dtype=bool)
        names, index = _numbered([port for port, taken in zip(ports, chosen, strict=True) if taken])
        of, source = _numbered([source or None for source, taken in zip(sources, chosen, strict=True) if taken])
        numbers = [columns[name][chosen] for name in _NUMBERS]
        found[str(case)] = Departures(names, of, np.column_stack([index, source, *numbers]))
    return found


def _numbered(names: list[Any]) -> tuple[list[str], NDArray[np.int64]]:
    """Different names in the order in which they come, and the place of each; -1 for none."""
    places = {name: place for place, name in enumerate(dict.fromkeys(name for name in names if name is not None))}
    return list(places), np.array([places.get(name, -1) for name in names], dtype=np.int64)


_TEXTS = ("case", "port", "source")
_NUMBERS = ("sequence", "arrived_ps", "departed_ps", "bytes")


def _csv(path: _Path) -> dict[str, Any]:
    text = _native.read_text(path, "table of departures")
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""))
        _check_columns(path, reader.fieldnames or ())
        rows = list(reader)
        if any(None in row.values() for row in rows):
            raise ValueError("a line has too few fields")
        columns: dict[str, Any] = {name: [row[name] for row in rows] for name in _TEXTS}
        for name in _NUMBERS:
            # A packet of a timer has no arrival.
            numbers = [int(row[name] or -1) if name == "arrived_ps" else int(row[name]) for row in rows]
            columns[name] = np.array(numbers, dtype=np.int64)
    except (ValueError, OverflowError, csv.Error) as error:
        raise FileError(f"{path} has no departures of `forebay sim`: {error}") from error
    return columns


def _parquet(path: _Path) -> dict[str, Any]:
    pyarrow, parquet = needed("parquet", "pyarrow", "pyarrow.parquet")
    try:
        table = parquet.read_table(path)
    except (OSError, pyarrow.lib.ArrowException) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    _check_columns(path, table.column_names)
    columns: dict[str, Any] = {name: table[name].to_pylist() for name in _TEXTS}
    try:
        for name in _NUMBERS:
            columns[name] = table[name].fill_null(-1).to_numpy()
    except pyarrow.lib.ArrowException as error:
        raise FileError(f"{path} has no departures of `forebay sim`: {error}") from error
    return columns


def _check_columns(path: _Path, names: Iterable[str]) -> None:
    missing = [name for name in (*_TEXTS, *_NUMBERS) if name not in names]
    if missing:
        raise FileError(f"{path} has no departures of `forebay sim`: no column {missing[0]}")


def _json(path: _Path, kind: type, what: str) -> Any:
    try:
        content = json.loads(_native.read_text(path, f"file with {what}"))
    except ValueError as error:
        raise FileError(f"{path} has no {what}: {error}") from error
    if not isinstance(content, kind):
        raise FileError(f"{path} has no {what}")
    return content
