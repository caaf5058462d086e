#!/usr/bin/env python3
"""Controls iot_disaggregate: where messages go, and the copies that take packets apart.

    control.py --route PREFIX,MAC,PORT... --mac MAC --messages N [-D NAME=VALUE...] [--grpc ADDRESS]

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import iot_control


async def main():
    parser = iot_control.options(__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=8, metavar="N", help="messages in a packet at most (8)")
    arguments = parser.parse_args()
    async with control.controlled("iot_disaggregate", arguments.grpc, f"N={arguments.messages}", *arguments.define) as switch:
        await iot_control.write_routes(switch, arguments.route, arguments.mac)
        await iot_control.write_replicas(switch, {port for _, _, port in arguments.route}, arguments.messages)
        print("ready", flush=True)


if __name__ == "__main__":
    control.run(main())
