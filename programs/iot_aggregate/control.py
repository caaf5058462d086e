#!/usr/bin/env python3
"""Controls iot_aggregate: where aggregated packets go.

    control.py --route PREFIX,MAC,PORT... --mac MAC [-D NAME=VALUE...] [--grpc ADDRESS]

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import asyncio
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import iot_control


async def main():
    parser = iot_control.options(__doc__.splitlines()[0])
    arguments = parser.parse_args()
    async with control.controlled("iot_aggregate", arguments.grpc, *arguments.define) as switch:
        await iot_control.write_routes(switch, arguments.route, arguments.mac)
        print("ready", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
