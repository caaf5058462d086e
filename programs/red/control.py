#!/usr/bin/env python3
"""Controls red: routes prefixes to ports, whose queues are marked from a threshold on.

    control.py PREFIX=PORT... [--least PACKETS] [--span PACKETS] [--grpc ADDRESS]

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import finsy as fy


def route(text):
    prefix, port = text.split("=")
    return prefix, int(port)


def routed(prefix, port):
    return fy.P4TableEntry(
        "routes", match=fy.Match(dst_addr=prefix), action=fy.Action("forward", port=port, priority=0)
    )


def marked(port, least, span):
    return fy.P4TableEntry(
        "thresholds", match=fy.Match(egress_port=port), action=fy.Action("mark_from", least=least, span=span)
    )


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("routes", nargs="+", type=route, metavar="PREFIX=PORT", help="where packets go")
    parser.add_argument("--least", type=int, default=65, metavar="PACKETS", help="in a queue before a mark (65)")
    parser.add_argument("--span", type=int, default=0, metavar="PACKETS", help="more until all are marked (0)")
    arguments = parser.parse_args()
    async with control.controlled("red", arguments.grpc) as switch:
        await switch.insert([routed(prefix, port) for prefix, port in arguments.routes])
        ports = {port for _, port in arguments.routes}
        await switch.insert([marked(port, arguments.least, arguments.span) for port in sorted(ports)])
        print("ready", flush=True)


if __name__ == "__main__":
    control.run(main())
