#!/usr/bin/env python3
"""Controls recirculate: which ports are its units.

    control.py IN,ROUND,ROUND,OUT... [-D NAME=VALUE...] [--grpc ADDRESS]

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import rendezvous_control


async def main():
    parser = rendezvous_control.options(__doc__.splitlines()[0])
    arguments = parser.parse_args()
    async with control.controlled("recirculate", arguments.grpc, *arguments.define) as switch:
        await switch.insert([rendezvous_control.joined(unit, out_port=unit.output) for unit in arguments.units])
        print("ready", flush=True)


if __name__ == "__main__":
    control.run(main())
