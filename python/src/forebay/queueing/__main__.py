"""The command `python -m forebay.queueing`."""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np

from ._check import Array
from ._chip import ChipRun, chip_accepted, chip_departures, chip_waiting_time
from ._departures import GROUPINGS, erlang_cdf, kolmogorov_smirnov
from ._switch import switch_departures, switch_service_times, switch_waiting_time
from .figures import FULL, NORMAL, QUICK, write_figures
from .figures._command import Options
from .figures.figure_7 import CHIP_PANELS
from .figures.figure_9 import ARRIVALS, LINE_RATE_MPPS, PAYLOAD_GBPS

__all__ = ["main"]

CHIP_DELTAS = (0.1, 0.5, 1.0)
# 1, 2 and 3 are those whose waits the paper compares, 5 and 8 those of its Figure 7.
_ORDERS = (1, 2, 3, 4, 5, 8)
_GOODPUT_ORDERS = (1, 2, 4, 8)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 when all went well, 1 when simulations are left, 2 for a mistake of the user."""
    options = _parser().parse_args(arguments)
    try:
        done: int = options.run(options)
        return done
    except (ValueError, OSError, RuntimeError, ImportError) as error:
        print(f"forebay.queueing: {error}", file=sys.stderr)
        return 2


def _figures(options: argparse.Namespace) -> int:
    effort = QUICK if options.quick else FULL if options.full else NORMAL
    tables, left = write_figures(
        options.out,
        effort,
        Options(
            chip_waits=options.chip,
            chip_multicast_waits=options.chip_multicast,
            switch_waits=options.switch,
            chip_departures=options.chip_departures,
            switch_departures=options.switch_departures,
            chip_goodput=options.chip_goodput,
            switch_goodput=options.switch_goodput,
            controllers=options.controllers,
            repository=options.repository,
            experiments=options.experiments,
            seconds=options.seconds,
            charts=not options.no_charts,
            png=options.png,
        ),
    )
    claims = tables["claims"].rows
    if options.json:
        print(json.dumps(claims, indent=1))
    else:
        for row in claims:
            print(f"{row['where']}: {row['published']}\n    {row['verdict']}: {row['found']}")
        print(f"written to {options.out}")
    if left:
        print(f"forebay.queueing: {left} simulations are left; --full continues where it stopped", file=sys.stderr)
    return 1 if left else 0


def _chip(options: argparse.Namespace) -> int:
    run = ChipRun(options.forebay, options.repository, options.packets, options.seeds)
    with _measurements(options.out) as file:
        file.write(
            f"# forebay sim, {options.second}: microseconds; {run.seeds} seeds of {run.packets} N-packets each\n"
        )
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("n", "message_rate", "service_rate", "service", "mean_wait", "half_width"))
        for n in options.n:
            for delta in CHIP_DELTAS:
                wait = chip_waiting_time(run, n, delta, options.second)
                numbers = (wait.message_rate, wait.service_rate, wait.service, wait.mean_wait, wait.half_width)
                writer.writerow((n, *(f"{x:.9g}" if isinstance(x, float) else x for x in numbers)))
                file.flush()
    return 0


def _chip_departures(options: argparse.Namespace) -> int:
    run = ChipRun(options.forebay, options.repository, options.packets)
    rows = [
        (grouping, panel.n, panel.service_rate, chip_departures(run, panel.n, panel.service_rate, grouping))
        for panel in CHIP_PANELS
        for grouping in GROUPINGS
    ]
    _write_distances(options.out, "forebay sim: N-packets that leave the first switch, rate in units of lambda", rows)
    return 0


def _chip_goodput(options: argparse.Namespace) -> int:
    run = ChipRun(options.forebay, options.repository, options.packets)
    with _measurements(options.out) as file:
        file.write(f"# forebay sim: {run.packets} N-packets a point, one waits: Mpps of messages, Gbps of payload\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("n", "arrival_rate", "goodput"))
        for n in options.n:
            for load in ARRIVALS:
                accepted = chip_accepted(run, n, load)
                rate = load * LINE_RATE_MPPS
                writer.writerow((n, f"{rate:.9g}", f"{accepted * rate * PAYLOAD_GBPS:.7g}"))
    return 0


def _switch(options: argparse.Namespace) -> int:
    options.out.mkdir(parents=True, exist_ok=True)
    times = {n: switch_service_times(options.repository, n, options.packets) for n in options.n}
    spread = "; ".join(f"N = {n}: {mean.mean():.2f} us, cv {mean.std() / mean.mean():.2f}" for n, mean in times.items())
    with open(options.out / "switch-waits.csv", "w", newline="", encoding="utf-8") as file:
        file.write(
            f"# forebay.Switch with iot_disaggregate: {options.packets} service times each, microseconds; {spread}\n"
        )
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("n", "message_rate", "service_rate", "service", "mean_wait", "half_width"))
        for n, measured in times.items():
            for delta in CHIP_DELTAS:
                wait = switch_waiting_time(measured, n, delta)
                numbers = (wait.message_rate, wait.service_rate, wait.service, wait.mean_wait, wait.half_width)
                writer.writerow((n, *(f"{x:.9g}" if isinstance(x, float) else x for x in numbers)))
    rows = [
        (
            grouping,
            panel.n,
            panel.service_rate,
            switch_departures(times[panel.n], panel.n, panel.service_rate, grouping),
        )
        for panel in CHIP_PANELS
        if panel.n in times
        for grouping in GROUPINGS
    ]
    what = "forebay.Switch: N-packets after measured service times, stretched to the rate, in units of lambda"
    _write_distances(options.out / "switch-departures.csv", what, rows)
    return 0


@contextmanager
def _measurements(path: Path) -> Iterator[TextIO]:
    """A file that takes the place of an earlier one when all is measured; what there is before then is in a `.part`."""
    if path.exists() and not path.is_file():
        with open(path, "w", newline="", encoding="utf-8") as file:
            yield file
        return
    whole = path.resolve()
    part = whole.with_name(f"{whole.name}.part")
    with open(part, "w", newline="", encoding="utf-8") as file:
        yield file
    os.replace(part, whole)


def _write_distances(path: Path, what: str, rows: Sequence[tuple[str, int, float, Array]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write(f"# {what}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("grouping", "n", "service_rate", "packets", "distance"))
        for grouping, n, rate, gaps in rows:
            ordered = np.sort(gaps)
            distance = kolmogorov_smirnov(ordered, erlang_cdf(n, 1.0, ordered))
            writer.writerow((grouping, n, rate, gaps.size, f"{distance:.7g}"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m forebay.queueing", description="Queueing analysis of aggregation.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    figures = commands.add_parser("figures", help="write tables and charts of every equation, figure and claim")
    figures.set_defaults(run=_figures)
    figures.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for CSV, JSON, SVG and PDF")
    effort = figures.add_mutually_exclusive_group()
    effort.add_argument("--quick", action="store_true", help="few packets, no Ciw: seconds")
    effort.add_argument("--full", action="store_true", help="intervals of 0.08 %%: minutes; may be continued")
    figures.add_argument("--seconds", type=float, metavar="S", help="begin no simulation of waits after S seconds")
    figures.add_argument("--json", action="store_true", help="print the claims as JSON")
    figures.add_argument("--no-charts", action="store_true", help="tables only: matplotlib is not needed")
    figures.add_argument("--png", action="store_true", help="charts as PNG too")
    for name, what in (
        ("chip", "waits on the chip model, of the command `chip`"),
        ("chip-multicast", "the same, N-packets split by multicast"),
        ("switch", "waits on the software switch"),
        ("chip-departures", "departures of the chip, of the command `chip-departures`"),
        ("switch-departures", "departures of the software switch"),
        ("chip-goodput", "goodput curves of the chip, of the command `chip-goodput`"),
        ("switch-goodput", "goodput curves of the software switch, beside the controllers"),
        ("controllers", "goodput curves of SDN controllers (Figure 12)"),
    ):
        figures.add_argument(f"--{name}", type=Path, metavar="FILE", help=what)
    figures.add_argument(
        "--repository", type=Path, metavar="DIR", help="checkout of Forebay, for the chip's tables 3 and 4"
    )
    figures.add_argument(
        "--experiments", type=Path, metavar="DIR", help="write a folder for each figure, with all columns in one table"
    )

    chip = commands.add_parser("chip", help="measure waits on the timed chip model with `forebay sim`")
    chip.set_defaults(run=_chip)
    chip.add_argument("--second", choices=("forward", "multicast"), default="forward", help="what the second chip does")
    chip.add_argument("--seeds", type=int, default=6, metavar="K", help="how many seeds")
    departures = commands.add_parser("chip-departures", help="measure departures of the chip: Figure 7 (d)")
    departures.set_defaults(run=_chip_departures)
    goodput = commands.add_parser("chip-goodput", help="measure what a chip with one waiting place takes: Figure 9")
    goodput.set_defaults(run=_chip_goodput)
    switch = commands.add_parser("switch", help="measure service times of the software switch, and waits with them")
    switch.set_defaults(run=_switch)
    for command, packets, out in (
        (chip, 60_000, ("FILE", "CSV file for `figures --chip`")),
        (departures, 400_000, ("FILE", "CSV file for `figures --chip-departures`")),
        (goodput, 100_000, ("FILE", "CSV file for `figures --chip-goodput`")),
        (switch, 200_000, ("DIR", "folder for switch-waits.csv and switch-departures.csv")),
    ):
        command.add_argument(
            "--repository", type=Path, default=Path(), metavar="DIR", help="checkout with the programs"
        )
        command.add_argument("--packets", type=int, default=packets, metavar="M", help="N-packets of each simulation")
        command.add_argument("--out", type=Path, required=True, metavar=out[0], help=out[1])
        if command is not switch:
            command.add_argument(
                "--forebay", type=Path, default=Path("forebay"), metavar="FILE", help="the command forebay"
            )
        if command is not departures:
            orders = _GOODPUT_ORDERS if command is goodput else _ORDERS
            command.add_argument(
                "--n", type=int, nargs="+", default=orders, metavar="N", help="messages in an N-packet, 1 to 8"
            )
    return parser


if __name__ == "__main__":
    sys.exit(main())
