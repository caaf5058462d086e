"""A folder for each figure, as `experiments/` has them: *published | formula | simulation | chip | switch* in one table."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ._claim import Tables
from ._table import Cell, Row

__all__ = ["write"]

SOURCE = 'Y.-B. Lin, S.-Y. Wang, C.-C. Huang, C.-M. Wu, "The SDN approach for the aggregation/disaggregation of sensor data", Sensors 18, 2018'


@dataclass(frozen=True)
class _Experiment:
    """What a folder holds: its name, the title, what to say of it, its rows from all tables, and its charts."""

    name: str
    needs: tuple[str, ...]
    title: str
    notes: str
    rows: Callable[[Tables], list[Row]]
    charts: tuple[str, ...]


def write(tables: Tables, figures: Path, folder: Path) -> list[Path]:
    """Write `result.md` and `result.json` of every experiment whose tables are there; the folders.

    `figures` is where tables and charts are, `folder` the folder of all experiments.
    """
    written = []
    for experiment in _EXPERIMENTS:
        if not all(name in tables for name in experiment.needs):
            continue
        place = folder / experiment.name
        place.mkdir(parents=True, exist_ok=True)
        rows = experiment.rows(tables)
        content = {"title": experiment.title, "source": SOURCE, "notes": experiment.notes, "rows": _rounded(rows)}
        (place / "result.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        text = _markdown(experiment, rows, os.path.relpath(figures, place))
        (place / "result.md").write_text(text, encoding="utf-8")
        written.append(place)
    return written


def _markdown(experiment: _Experiment, rows: list[Row], figures: str) -> str:
    columns = list(rows[0])
    lines = [
        f"# {experiment.title}",
        "",
        f"Published: {SOURCE}. Written by `python -m forebay.queueing figures --experiments DIR`.",
        "",
        experiment.notes,
        "",
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
        *("| " + " | ".join(_text(row[column]) for column in columns) + " |" for row in rows),
    ]
    for chart in experiment.charts:
        lines += ["", f"![{chart}]({figures}/{chart}.svg)"]
    return "\n".join(lines) + "\n"


def _text(value: Cell) -> str:
    if value is None:
        return "–"
    return f"{value:.5g}" if isinstance(value, float) else str(value).replace("|", "\\|")


def _rounded(rows: list[Row]) -> list[Row]:
    return [
        {name: float(f"{value:.7g}") if isinstance(value, float) else value for name, value in row.items()}
        for row in rows
    ]


def _interval(value: Cell, half_width: Cell) -> Cell:
    """A discrepancy with its interval, both in %."""
    if value is None:
        return None
    return f"{value:+.3f}" if half_width is None else f"{value:+.3f} ± {half_width:.3f}"


def _figure_7(tables: Tables) -> list[Row]:
    return [
        {
            "panel": row["panel"],
            "service": row["service"],
            "mu / lambda": row["service_rate"],
            "N": row["n"],
            "service is": row["grouping"],
            "published": row["published"],
            "formula": row["formula"],
            "simulation": row["simulation"],
            "noise": row["noise"],
            "chip": row["chip"],
            "chip noise": row["chip_noise"],
            "switch": row["switch"],
            "switch noise": row["switch_noise"],
        }
        for row in tables["figure-7"].rows
    ]


def _figure_9(tables: Tables) -> list[Row]:
    return [
        {
            "N": row["n"],
            "arrivals, Mpps": row["arrival_mpps"],
            "published": row["published"],
            "formula": row["formula"],
            "simulation": row["simulation"],
            "constant rate": row["constant"],
            "formula, one place": row["one_place"],
            "chip, one place": row["chip"],
        }
        for row in tables["figure-9"].rows
    ]


def _figure_10(tables: Tables) -> list[Row]:
    rows: list[Row] = []
    for row in tables["figure-10"].rows:
        waits = tables["waits"].select(service=row["service"], n=row["n"], delta=row["delta"])
        wait = waits[0] if waits else {}
        rows.append(
            {
                "service": row["service"],
                "N": row["n"],
                "delta": row["delta"],
                "published": row["published"],
                "formula": row["reading_service"],
                "simulation": row["simulation"],
                "simulated wait, % from formula": _interval(
                    wait.get("simulation_percent"), wait.get("simulation_half_width")
                ),
                "Ciw, %": _interval(wait.get("ciw_percent"), wait.get("ciw_half_width")),
                "chip, %": _interval(wait.get("chip_percent"), wait.get("chip_half_width")),
                "switch, %": _interval(wait.get("switch_percent"), wait.get("switch_half_width")),
            }
        )
    return rows


def _figure_12(tables: Tables) -> list[Row]:
    def over(row: Row) -> Cell:
        switch, controllers = row["switch"], row["controllers"]
        if not isinstance(switch, float) or not isinstance(controllers, float) or not controllers:
            return None
        return switch / controllers

    return [
        {
            "N": row["n"],
            "arrivals, messages/s": round(1e6 * float(str(row["arrival_mpps"]))),
            "controllers, Mbps": 1e3 * float(str(row["controllers"])),
            "switch, Mbps": None if row["switch"] is None else 1e3 * float(str(row["switch"])),
            "formula, Mbps": 1e3 * float(str(row["switch_formula"])),
            "switch / controllers": over(row),
            "controllers, over N = 1": row["ratio_to_n_1"],
        }
        for row in tables["figure-12"].rows
    ]


def _claims(tables: Tables) -> list[Row]:
    return [
        {"where": row["where"], "published": row["published"], "found": row["found"], "verdict": row["verdict"]}
        for row in tables["claims"].rows
    ]


_EXPERIMENTS = (
    _Experiment(
        "queueing-figure-7",
        ("figure-7",),
        "Figure 7: N-packets that leave the first switch, against Erlang-N",
        "Kolmogorov-Smirnov distances; the published figure is a picture. The chip's service is fixed, so it is beside (d), and (d) with "
        "N = 8. *switch*: service times of the software switch, measured one by one and stretched to the "
        "panel's rate. 95 % of samples of a right distribution stay below *noise*.",
        _figure_7,
        ("figure-7",),
    ),
    _Experiment(
        "queueing-figure-9",
        ("figure-9",),
        "Figure 9: goodput of the second switch over the arrival rate",
        "Gbps of payload; a switch without a buffer (G/D/1/1), and one with a place for one N-packet, which the timed chip has. The published "
        "figure is a picture. What the software switch does at its own rates, at most a ninetieth of the lowest one here, is in queueing-figure-12.",
        _figure_9,
        ("figure-9",),
    ),
    _Experiment(
        "queueing-figure-10",
        ("figure-10", "waits"),
        "Figure 10: the smallest service rate of the second switch, and the waits behind it",
        "mu_N*(delta) / lambda for E[t_W] <= delta / mu_N; published: the printed (14) for N = 1. Waits are simulated and measured at "
        "the formula's rate: discrepancy of the mean wait from the formula, with 95 % intervals. The paper has 0.4 % for N = 1 and 0.9 % for N = 2 and 3. "
        "*switch*: the software switch's service times vary, so E_N/D/1 is not its model; the figure says by how much.",
        _figure_10,
        ("figure-10", "waits"),
    ),
    _Experiment(
        "queueing-figure-12",
        ("figure-12",),
        "Figure 12: goodput with SDN controllers, beside the software switch",
        "Aggregation and disaggregation in a row, measured in one run on one small machine (docs/baselines.md); the formula is a switch of 100 Gbps. "
        "The published figure is a picture; it says that goodput for N >= 2 is below that for N = 1. A sweep ends when less than half of the "
        "messages get through at two rates in a row; for N = 3 and 6 these were 8,000 and 16,000 messages/s.",
        _figure_12,
        ("figure-12",),
    ),
    _Experiment(
        "queueing-claims",
        ("claims",),
        "Every equation, figure and claim of the paper",
        "The data of each is in docs/queueing; docs/queueing.md says what was chosen where the text leaves something open.",
        _claims,
        (),
    ),
)
