"""The command `python -m forebay.queueing`."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ._chip import ChipRun, chip_waiting_time
from .figures import FULL, NORMAL, QUICK, write_figures
from .figures._command import Options

__all__ = ["main"]

CHIP_DELTAS = (0.1, 0.5, 1.0)


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
            chip_goodput=options.chip_goodput,
            switch_goodput=options.switch_goodput,
            controllers=options.controllers,
            repository=options.repository,
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
    with open(options.out, "w", newline="", encoding="utf-8") as file:
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
        ("chip-goodput", "goodput curves of the chip"),
        ("switch-goodput", "goodput curves of the software switch"),
        ("controllers", "goodput curves of SDN controllers (Figure 12)"),
    ):
        figures.add_argument(f"--{name}", type=Path, metavar="FILE", help=what)
    figures.add_argument(
        "--repository", type=Path, metavar="DIR", help="checkout of Forebay, for the chip's tables 3 and 4"
    )

    chip = commands.add_parser("chip", help="measure waits on the timed chip model with `forebay sim`")
    chip.set_defaults(run=_chip)
    chip.add_argument("--forebay", type=Path, default=Path("forebay"), metavar="FILE", help="the command forebay")
    chip.add_argument(
        "--repository", type=Path, default=Path(), metavar="DIR", help="checkout of Forebay, for its programs"
    )
    chip.add_argument("--second", choices=("forward", "multicast"), default="forward", help="what the second chip does")
    chip.add_argument("--n", type=int, nargs="+", default=[1, 2, 4, 8], metavar="N", help="messages in an N-packet")
    chip.add_argument("--packets", type=int, default=60_000, metavar="M", help="N-packets of each seed")
    chip.add_argument("--seeds", type=int, default=6, metavar="K", help="how many seeds")
    chip.add_argument("--out", type=Path, required=True, metavar="FILE", help="CSV file for `figures --chip`")
    return parser


if __name__ == "__main__":
    sys.exit(main())
