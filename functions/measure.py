#!/usr/bin/env python3
"""Packets per second through the functions; two binaries in turns show the cost of a change.

    functions/measure.py [FUNCTION...] [--against BINARY] [--json]
    functions/measure.py [FUNCTION...] --share     fails when packets leave specialised code; a test, as it measures no time
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
    parser.add_argument("--share", action="store_true", help="measure only the share of packets that take specialised code")
    arguments = parser.parse_args()
    unknown = set(arguments.functions) - measured.keys()
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: no function that is measured; there are {', '.join(measured)}")
    all_are_specialised = True
    for name in arguments.functions or measured:
        function = module(measured[name])
        own = argparse.ArgumentParser()
        function.add_options(own)
        if arguments.share:
            for row in function.rows(own.parse_args(function.FEW)):
                all_are_specialised &= row.is_specialised(arguments.forebay)
        else:
            bench.report(function.rows(own.parse_args([])), arguments)
    return 0 if all_are_specialised else 1


if __name__ == "__main__":
    sys.exit(main())
