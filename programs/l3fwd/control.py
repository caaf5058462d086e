#!/usr/bin/env python3
"""Controls l3fwd: routes and allowed sources come from a file; SIGHUP reads it again and changes what differs.

    control.py FILE [--grpc ADDRESS]

Each line of the file is one of

    from MAC                                    packets of this source are routed
    route PREFIX via MAC port PORT mac MAC      to this neighbour, by this port, with this source address

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import asyncio
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import finsy as fy


def source(mac):
    return fy.P4TableEntry("src_mac", match=fy.Match(src_addr=mac), action=fy.Action("NoAction"))


def next_hop(number, neighbour):
    via, port, mac = neighbour
    return fy.P4TableEntry(
        "next_hops",
        match=fy.Match(next_hop=number),
        action=fy.Action("forward", src_addr=mac, dst_addr=via, port=port),
    )


def route(prefix, number):
    return fy.P4TableEntry("ipv4_lpm", match=fy.Match(dst_addr=prefix), action=fy.Action("set_next_hop", next_hop=number))


class Router:
    def __init__(self, switch):
        self.switch = switch
        self.sources = set()
        # Prefix -> neighbour, and neighbour -> number of its next hop.
        self.routes = {}
        self.next_hops = {}

    async def load(self, path):
        """Makes the switch do what the file says. A next hop is there before the first route to it."""
        sources, routes = read(path)
        await self.switch.insert([source(mac) for mac in sorted(sources - self.sources)])
        await self.switch.insert([self.new_next_hop(one) for one in sorted(set(routes.values()) - set(self.next_hops))])
        for prefix, neighbour in routes.items():
            entry = route(prefix, self.next_hops[neighbour])
            if prefix not in self.routes:
                await self.switch.insert([entry])
            elif self.routes[prefix] != neighbour:
                await self.switch.modify([entry])
        gone = [prefix for prefix in self.routes if prefix not in routes]
        await self.switch.delete([route(prefix, self.next_hops[self.routes[prefix]]) for prefix in gone])
        await self.switch.delete([source(mac) for mac in self.sources - sources])
        unused = set(self.next_hops) - set(routes.values())
        await self.switch.delete([next_hop(self.next_hops.pop(neighbour), neighbour) for neighbour in unused])
        self.sources, self.routes = sources, routes
        print(f"{len(routes)} routes, {len(sources)} sources", flush=True)

    def new_next_hop(self, neighbour):
        number = max(self.next_hops.values(), default=0) + 1
        self.next_hops[neighbour] = number
        return next_hop(number, neighbour)


def read(path):
    """Sources and routes of a file."""
    sources, routes = set(), {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match line.split("#")[0].split():
            case []:
                pass
            case ["from", mac]:
                sources.add(mac)
            case ["route", prefix, "via", via, "port", port, "mac", mac]:
                routes[prefix] = (via, int(port), mac)
            case _:
                raise SystemExit(f"{path}:{number}: expected `from MAC` or `route PREFIX via MAC port PORT mac MAC`")
    return sources, routes


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, help="routes and allowed sources")
    arguments = parser.parse_args()
    again = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, again.set)
    read(arguments.file)
    async with control.controlled("l3fwd", arguments.grpc) as switch:
        router = Router(switch)
        while True:
            await router.load(arguments.file)
            await again.wait()
            again.clear()


if __name__ == "__main__":
    control.run(main())
