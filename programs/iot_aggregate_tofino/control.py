#!/usr/bin/env python3
"""Controls iot_aggregate_tofino: whose messages are gathered, and where aggregated packets go.

    control.py --flow SOURCE,DESTINATION,UDP_PORT... --route PREFIX,MAC,PORT... --mac MAC 
               [-D NAME=VALUE...] [--grpc ADDRESS]

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import finsy as fy
import iot_control


async def write_flows(switch, flows):
    """A place for each flow, in their order."""
    for place, (source, destination, port) in enumerate(flows):
        await switch.insert([
            fy.P4TableEntry(
                "flows",
                match=fy.Match(src_addr=source, dst_addr=destination, src_port=port),
                action=fy.Action("aggregate", flow=place),
            ),
        ])


def flow(text):
    """The addresses of a device and of the server, and the device's UDP port."""
    source, destination, port = text.split(",")
    return source, destination, int(port)


async def main():
    parser = iot_control.options(__doc__.splitlines()[0])
    parser.add_argument("--flow", required=True, action="append", type=flow, metavar="SOURCE,DESTINATION,UDP_PORT",
                        help="a device: its address, the server's, and its UDP port")
    arguments = parser.parse_args()
    async with control.controlled("iot_aggregate_tofino", arguments.grpc, *arguments.define) as switch:
        await iot_control.write_routes(switch, arguments.route, arguments.mac)
        await write_flows(switch, arguments.flow)
        print("ready", flush=True)


if __name__ == "__main__":
    control.run(main())
