#!/usr/bin/env python3
"""Controls iot_disaggregate_mixed: where messages go, and the copies that take packets apart.

    control.py --route PREFIX,MAC,PORT... --mac MAC --messages N [-D NAME=VALUE...] [--grpc ADDRESS]

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import finsy as fy
import iot_control


async def write_replicas(switch, ports, messages):
    """For each port a group for each number of messages: 1000 + 8 x port + number - 1."""
    for port in sorted(ports):
        await switch.insert([
            fy.P4MulticastGroupEntry(
                iot_control.FIRST_REPLICA_GROUP + 8 * port + number - 1,
                replicas=[(port, instance) for instance in range(number)],
            )
            for number in range(1, messages + 1)
        ])


async def main():
    parser = iot_control.options(__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=4, choices=(2, 4, 8), help="messages in a packet at most (4)")
    arguments = parser.parse_args()
    defines = [f"N={arguments.messages}", *arguments.define]
    async with control.controlled("iot_disaggregate_mixed", arguments.grpc, *defines) as switch:
        await iot_control.write_routes(switch, arguments.route, arguments.mac)
        await write_replicas(switch, {port for _, _, port in arguments.route}, arguments.messages)
        print("ready", flush=True)


if __name__ == "__main__":
    control.run(main())
