#!/usr/bin/env python3
"""Controls p4qrs: its units, and what became of their packets.

    control.py IN,ROUND,ROUND,OUT... [-D NAME=VALUE...] [--watch SECONDS] [--grpc ADDRESS]

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import finsy as fy
import rendezvous_control

# The clone session of a recirculation port is this + its number, and cuts packets to their headers.
FIRST_SESSION = 1000
HEADER_BYTES = 114

# The counter of the program, element by element.
OUTCOMES = ["merged", "expired", "unfit", "late"]


def header_session(port):
    return fy.P4CloneSessionEntry(FIRST_SESSION + port, replicas=[port], packet_length_bytes=HEADER_BYTES)


async def main():
    parser = rendezvous_control.watching_options(__doc__.splitlines()[0])
    arguments = parser.parse_args()
    async with control.controlled("p4qrs", arguments.grpc, *arguments.define) as switch:
        ports = sorted({port for unit in arguments.units for port in unit.recirculation})
        await switch.insert([header_session(port) for port in ports])
        for number, unit in enumerate(arguments.units):
            await switch.insert([rendezvous_control.joined(unit, number=number, output_port=unit.output)])
        print("ready", flush=True)
        await rendezvous_control.watch(switch, arguments.watch, OUTCOMES)


if __name__ == "__main__":
    control.run(main())
