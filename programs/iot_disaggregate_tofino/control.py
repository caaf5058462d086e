#!/usr/bin/env python3
"""Controls iot_disaggregate_tofino: where messages go, and the copies that take packets apart.

    control.py --route PREFIX,MAC,PORT... --mac MAC --messages N [--lanes PORT,PORT...]
               [-D NAME=VALUE...] [--grpc ADDRESS]

With --lanes, copies of N-packets go to these loopback ports (METHOD_SPREAD); -D METHOD=1 resubmits N-packets.

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import finsy as fy
import iot_control

METHOD_SPREAD = 3
# The multicast group whose copies go to the loopback ports.
LANES_GROUP = 999


async def write_lanes(switch, ports, messages):
    """A copy for each message, to the loopback ports in turn."""
    copies = [(ports[message % len(ports)], message) for message in range(messages)]
    await switch.insert([fy.P4MulticastGroupEntry(LANES_GROUP, replicas=copies)])


async def main():
    parser = iot_control.options(__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=8, metavar="N", help="messages in a packet (8)")
    parser.add_argument("--lanes", type=control.ports, default=[],
                        metavar="PORT,PORT...", help="loopback ports that copies of N-packets take in turn")
    arguments = parser.parse_args()
    defines = [f"N={arguments.messages}", *arguments.define]
    if arguments.lanes:
        defines.append(f"METHOD={METHOD_SPREAD}")
    async with control.controlled("iot_disaggregate_tofino", arguments.grpc, *defines) as switch:
        await iot_control.write_routes(switch, arguments.route, arguments.mac)
        await iot_control.write_replicas(switch, {port for _, _, port in arguments.route}, arguments.messages)
        if arguments.lanes:
            await write_lanes(switch, arguments.lanes, arguments.messages)
        print("ready", flush=True)


if __name__ == "__main__":
    control.run(main())
