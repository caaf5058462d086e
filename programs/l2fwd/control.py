#!/usr/bin/env python3
"""Controls l2fwd as a bridge: floods what it does not know, learns addresses from digests, forgets those that are idle.

    control.py --ports 1,2,3 [--age SECONDS] [--grpc ADDRESS]

Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import asyncio
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import control
import finsy as fy

# The program floods what arrives on port p to this group + p.
FIRST_FLOOD_GROUP = 1


class Bridge:
    def __init__(self, switch, ports, age):
        self.switch = switch
        self.ports = ports
        self.age = age
        # The port on which each address was seen last.
        self.known = {}

    async def prepare(self):
        """Floods to all ports but that of arrival, and enables digests."""
        groups = [
            fy.P4MulticastGroupEntry(FIRST_FLOOD_GROUP + port, replicas=[other for other in self.ports if other != port])
            for port in self.ports
        ]
        learn = fy.P4DigestEntry("learn_t", max_list_size=64, max_timeout_ns=10_000_000, ack_timeout_ns=1_000_000_000)
        await self.switch.insert([*groups, learn])

    def entries(self, address, port):
        return [
            fy.P4TableEntry(
                "src_mac",
                match=fy.Match(src_addr=address),
                action=fy.Action("known", port=port),
                idle_timeout_ns=int(self.age * 1e9),
            ),
            fy.P4TableEntry("dst_mac", match=fy.Match(dst_addr=address), action=fy.Action("forward", port=port)),
        ]

    async def learn(self):
        async for digest in self.switch.read_digests("learn_t"):
            for message in digest:
                await self.see(message["src_addr"], message["port"])
            await self.switch.write([digest.ack()])

    async def see(self, address, port):
        """An address is new, or has moved to another port."""
        before = self.known.get(address)
        if before == port:
            return
        write = self.switch.insert if before is None else self.switch.modify
        await write(self.entries(address, port))
        self.known[address] = port
        print(f"{address:012x} is on port {port}", flush=True)

    async def forget(self):
        async for notification in self.switch.read_idle_timeouts():
            for entry in notification.table_entry:
                address = entry.match["src_addr"]
                address = address if isinstance(address, int) else int(fy.MACAddress(address))
                port = self.known.pop(address, None)
                if port is not None:
                    await self.switch.delete(self.entries(address, port))
                    print(f"{address:012x} is forgotten", flush=True)


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("--ports", required=True, type=control.ports, metavar="N,N...", help="the ports of the bridge")
    parser.add_argument("--age", type=float, default=300, metavar="SECONDS", help="how long an address stays (300)")
    arguments = parser.parse_args()
    async with control.controlled("l2fwd", arguments.grpc, "AGEING") as switch:
        bridge = Bridge(switch, arguments.ports, arguments.age)
        await bridge.prepare()
        print("ready", flush=True)
        await asyncio.gather(bridge.learn(), bridge.forget())


if __name__ == "__main__":
    control.run(main())
