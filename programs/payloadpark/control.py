#!/usr/bin/env python3
"""Controls payloadpark: its units, and what became of their packets.

    control.py IN,ROUND,ROUND,OUT... [-D NAME=VALUE...] [--watch SECONDS] [--grpc ADDRESS]

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import rendezvous_control

# The counter of the program, element by element.
OUTCOMES = ["returned", "lost", "unfit"]


async def main():
    parser = rendezvous_control.watching_options(__doc__.splitlines()[0])
    arguments = parser.parse_args()
    async with control.controlled("payloadpark", arguments.grpc, *arguments.define) as switch:
        await switch.insert([rendezvous_control.joined(unit, out_port=unit.output) for unit in arguments.units])
        print("ready", flush=True)
        await rendezvous_control.watch(switch, arguments.watch, OUTCOMES)


if __name__ == "__main__":
    control.run(main())
