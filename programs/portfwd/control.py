#!/usr/bin/env python3
"""Controls portfwd: joins pairs of ports, in both directions.

    control.py PORT-PORT... [--grpc ADDRESS]

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import finsy as fy


def pair(text):
    first, second = text.split("-")
    return int(first), int(second)


def joined(first, second):
    return fy.P4TableEntry("ports", match=fy.Match(ingress_port=first), action=fy.Action("forward", port=second))


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("pairs", nargs="+", type=pair, metavar="PORT-PORT", help="ports that are joined")
    arguments = parser.parse_args()
    async with control.controlled("portfwd", arguments.grpc) as switch:
        for first, second in arguments.pairs:
            await switch.insert([joined(first, second), joined(second, first)])
        print("ready", flush=True)


if __name__ == "__main__":
    control.run(main())
