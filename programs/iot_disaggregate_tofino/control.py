#!/usr/bin/env python3
"""Controls iot_disaggregate_tofino: where messages go, and the copies that take packets apart.

    control.py --route PREFIX,MAC,PORT... --mac MAC --messages N [--lanes PORT,PORT...]
               [-D NAME=VALUE...] [--grpc ADDRESS]

With --lanes, N-packets are spread over these loopback ports (METHOD_SPREAD); -D METHOD=1 resubmits them.

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import asyncio
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import finsy as fy

import control
import iot_control

METHOD_SPREAD = 3


async def write_lanes(switch, ports):
    """The loopback port of each turn."""
    for turn, port in enumerate(ports):
        await switch.insert([fy.P4TableEntry("lanes", match=fy.Match(turn=turn), action=fy.Action("to_lane", port=port))])


async def main():
    parser = iot_control.options(__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=8, metavar="N", help="messages in a packet (8)")
    parser.add_argument("--lanes", type=lambda text: [int(port) for port in text.split(",")], default=[],
                        metavar="PORT,PORT...", help="loopback ports that N-packets take in turn")
    arguments = parser.parse_args()
    defines = [f"N={arguments.messages}", *arguments.define]
    if arguments.lanes:
        defines += [f"METHOD={METHOD_SPREAD}", f"LANES={len(arguments.lanes)}"]
    async with control.controlled("iot_disaggregate_tofino", arguments.grpc, *defines) as switch:
        await iot_control.write_routes(switch, arguments.route, arguments.mac)
        await iot_control.write_replicas(switch, {port for _, _, port in arguments.route}, arguments.messages)
        await write_lanes(switch, arguments.lanes)
        print("ready", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
