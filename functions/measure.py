#!/usr/bin/env python3
"""Packets per second through the functions, each with its own defaults; two commands in turns show what a change has cost.

    functions/measure.py [FUNCTION...] [--against BINARY] [--json]
"""

import argparse
import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "lib"))


def module(path):
    """A function's `measure.py`, or that of the library."""
    spec = importlib.util.spec_from_file_location(f"measure_{path.parent.name}", path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def main():
    library = HERE / "lib/measure.py"
    measured = {path.parent.name: path for path in sorted(HERE.glob("*/measure.py")) if path != library}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", metavar="FUNCTION", help=f"of {', '.join(measured)}; all unless told")
    bench = module(library)
    bench.add_options(parser)
    arguments = parser.parse_args()
    unknown = set(arguments.functions) - measured.keys()
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: no function that is measured; there are {', '.join(measured)}")
    for name in arguments.functions or measured:
        function = module(measured[name])
        own = argparse.ArgumentParser()
        function.add_options(own)
        bench.report(function.rows(own.parse_args([])), arguments)


if __name__ == "__main__":
    main()
