"""Computes all tables, draws all charts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .._measured import (
    GoodputCurve,
    MeasuredDistance,
    MeasuredWait,
    read_distances,
    read_goodput_curves,
    read_waits,
)
from . import (
    buffers,
    claims,
    experiments,
    figure_7,
    figure_9,
    figure_10,
    figure_12,
    network,
    payload,
    superposition,
    waits,
)
from ._claim import Tables
from ._effort import NORMAL, Effort
from ._table import Table

__all__ = ["Options", "write_figures"]


@dataclass(frozen=True)
class Options:
    """Files of measurements, each optional, and what is written beside SVG and PDF."""

    chip_waits: Path | None = None
    chip_multicast_waits: Path | None = None
    switch_waits: Path | None = None
    chip_departures: Path | None = None
    switch_departures: Path | None = None
    chip_goodput: Path | None = None
    switch_goodput: Path | None = None
    controllers: Path | None = None
    repository: Path | None = None
    experiments: Path | None = None
    seconds: float | None = None
    charts: bool = True
    png: bool = False


def write_figures(out: Path, effort: Effort = NORMAL, options: Options = Options()) -> tuple[Tables, int]:
    """Write every table as CSV and JSON and every chart as SVG and PDF into `out`; the claims as Markdown too.

    With `options.seconds` no simulation of waits begins after this time; a full effort's is continued by the same call.
    Returns the tables by name, and how many simulations are left.
    """
    out.mkdir(parents=True, exist_ok=True)
    cache = waits.Cache(out / "simulated.json" if effort.name == "full" else None, options.seconds)
    tables = _tables(cache, effort, options)
    tables["claims"] = claims.table(tables)
    for table in tables.values():
        table.write(out)
    claims.write_markdown(tables["claims"], out / "claims.md")
    if options.charts:
        _draw(tables, out, options.png)
    if options.experiments is not None:
        experiments.write(tables, out, options.experiments)
    return tables, cache.left


def _tables(cache: waits.Cache, effort: Effort, options: Options) -> Tables:
    chip, multicast, switch = (
        _waits(file) for file in (options.chip_waits, options.chip_multicast_waits, options.switch_waits)
    )
    mean_waits = waits.table(effort, cache, chip, switch)
    tables = [
        payload.table(),
        superposition.table(effort),
        figure_7.table(effort, _distances(options.chip_departures), _distances(options.switch_departures)),
        figure_7.histogram(effort),
        figure_9.table(effort, _curves(options.chip_goodput)),
        figure_9.ratios(options.repository),
        figure_9.inversion(effort),
        waits.roots(),
        mean_waits,
        figure_10.table(mean_waits),
        figure_10.fall(),
        buffers.table(),
        buffers.loss(effort),
    ]
    sources = {
        "chip, N-packets forwarded": chip,
        "chip, N-packets split by multicast": multicast,
        "software switch": switch,
    }
    outside = [row for source, rows in sources.items() for row in waits.measured(source, rows)]
    if outside:
        tables.append(
            Table(
                "measured",
                "Mean waits that a chip or switch has measured, beside E_N/D/1",
                "service_rate: mu_N over lambda; waits in units of 1 / lambda; half_width_percent: of the 95 % interval.",
                outside,
            )
        )
    if options.repository is not None:
        tables += [network.line_rate(options.repository), network.loss(options.repository)]
    if options.controllers is not None:
        tables.append(figure_12.table(_curves(options.controllers), _curves(options.switch_goodput)))
    return {table.name: table for table in tables}


def _draw(tables: Tables, out: Path, png: bool) -> None:
    charts: list[tuple[tuple[str, ...], Callable[..., None]]] = [
        (("payload",), payload.draw),
        (("superposition",), superposition.draw),
        (("figure-7", "figure-7-density"), figure_7.draw),
        (("figure-9", "equation-5"), figure_9.draw),
        (("waits",), waits.draw),
        (("figure-10",), figure_10.draw),
        (("figure-10",), figure_10.draw_readings),
        (("buffer-loss",), buffers.draw),
        (("measured",), waits.draw_measured),
        (("figure-12",), figure_12.draw),
    ]
    for names, draw in charts:
        if all(name in tables for name in names):
            draw(*(tables[name] for name in names), out, png)


def _waits(file: Path | None) -> list[MeasuredWait]:
    return [] if file is None else read_waits(file)


def _distances(file: Path | None) -> list[MeasuredDistance]:
    return [] if file is None else read_distances(file)


def _curves(file: Path | None) -> dict[int, GoodputCurve]:
    return {} if file is None else read_goodput_curves(file)
