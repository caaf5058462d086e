#!/usr/bin/env python3
"""Makes a switch the bridge that a file describes: learns addresses, forgets idle ones, floods within VLANs.

    control.py FILE [--grpc ADDRESS]

SIGHUP reads the file again. bridge.toml beside this program is an example. Needs finsy from PyPI, and forebay in the
PATH (or $FOREBAY).
"""

import asyncio
import collections
import pathlib
import signal
import sys

import finsy as fy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import control
import forms

STATES = {"blocked": 0, "learning": 1, "forwarding": 2}


VID = forms.integer(1, 4094)
# The keys of the file, required and optional ones, with their kinds.
PORT = forms.Form(
    {"number": forms.switch_port},
    {
        "untagged": VID,
        "tagged": forms.list_of(VID),
        "state": forms.one_of(*STATES),
        "addresses_max": forms.integer(0, 1 << 31),
    },
)
FORM = forms.Form(
    {"port": forms.tables(PORT)},
    {
        "age": forms.number,
        "static": forms.tables(forms.Form({"vlan": VID, "address": forms.mac, "port": forms.switch_port})),
    },
)


def entry(table, match, action, *, idle=0.0, **parameters):
    return fy.P4TableEntry(
        table, match=fy.Match(match), action=fy.Action(action, **parameters), idle_timeout_ns=int(idle * 1e9)
    )


def members(settings):
    """VLAN -> port -> whether its frames are tagged there."""
    found = collections.defaultdict(dict)
    for port in settings["port"]:
        for vid in port.get("tagged", []):
            found[vid][port["number"]] = True
        if vid := port.get("untagged"):
            found[vid][port["number"]] = False
    return found


def port_entries(settings):
    for port in settings["port"]:
        state = STATES[port.get("state", "forwarding")]
        yield entry(
            "ports",
            {"standard_metadata.ingress_port": port["number"]},
            "set_port",
            pvid=port.get("untagged", 0),
            state=state,
        )
    for vid, ports in members(settings).items():
        for number, is_tagged in ports.items():
            yield entry("members", {"meta.vid": vid, "standard_metadata.ingress_port": number}, "NoAction")
            action = "tagged" if is_tagged else "untagged"
            yield entry("egress_members", {"meta.vid": vid, "standard_metadata.egress_port": number}, action)


def forwarding_ports(settings):
    """The flood group of each VLAN: its ports that forward."""
    states = {port["number"]: port.get("state", "forwarding") for port in settings["port"]}
    return {
        vid: sorted(port for port in ports if states[port] == "forwarding") for vid, ports in members(settings).items()
    }


def number(address):
    """A MAC address that was read, as a number."""
    return address if isinstance(address, int) else control.mac(str(address))


class Bridge:
    def __init__(self, switch, path):
        self.switch = switch
        self.path = path
        self.settings = {}
        self.entries = control.Entries(switch)
        # VLAN -> ports that forward.
        self.groups = {}
        # (VLAN, address) -> port. Static ones never move and never age.
        self.known = {}
        self.static = {}

    async def load(self):
        self.settings = forms.read(self.path, FORM)
        self.groups = forwarding_ports(self.settings)
        groups = [fy.P4MulticastGroupEntry(vid, replicas=ports) for vid, ports in self.groups.items()]
        written = await self.entries.apply([*groups, *port_entries(self.settings)])
        await self.forget_lost()
        await self.write_static()
        print(f"{len(self.settings['port'])} ports, {len(self.groups)} VLANs: {written}", flush=True)

    async def take_over(self):
        """Makes what an earlier run has written the entries of this one, and remembers the addresses that it has
        learnt."""
        await self.entries.take_over(learnt=("source_addresses", "destinations"))
        async for one in self.switch.read(fy.P4TableEntry("source_addresses")):
            key = one.match["vid"], number(one.match["src_addr"])
            self.known[key] = one.action.args["port"]
            if one.idle_timeout_ns == 0:
                self.static[key] = self.known[key]

    async def forget_lost(self):
        """Forgets the addresses of ports that do not forward in their VLAN any more."""
        for (vid, address), port in list(self.known.items()):
            if port not in self.groups.get(vid, []):
                await self.forget(vid, address)

    async def write_static(self):
        wanted = {(one["vlan"], control.mac(one["address"])): one["port"] for one in self.settings.get("static", [])}
        for key in set(self.static) - set(wanted):
            await self.forget(*key)
        self.static = wanted
        for key, port in wanted.items():
            write = self.switch.modify if key in self.known else self.switch.insert
            await write(list(self.address_entries(*key, port, 0)))
            self.known[key] = port

    def address_entries(self, vid, address, port, idle):
        yield entry(
            "source_addresses", {"meta.vid": vid, "hdr.ethernet.src_addr": address}, "known", port=port, idle=idle
        )
        yield entry("destinations", {"meta.vid": vid, "hdr.ethernet.dst_addr": address}, "forward", port=port)

    async def learn_one(self, vid, address, port, idle):
        before = self.known.get((vid, address))
        if before == port or (before is None and self.is_full(port)):
            return
        write = self.switch.insert if before is None else self.switch.modify
        await write(list(self.address_entries(vid, address, port, idle)))
        self.known[vid, address] = port
        print(f"{address:012x} is on port {port} in VLAN {vid}", flush=True)

    def is_full(self, port):
        """Whether a port has its greatest number of addresses."""
        limit = next((one.get("addresses_max") for one in self.settings["port"] if one["number"] == port), None)
        return limit is not None and sum(other == port for other in self.known.values()) >= limit

    async def forget(self, vid, address):
        port = self.known.pop((vid, address), None)
        if port is not None:
            await self.switch.delete(list(self.address_entries(vid, address, port, 0)))
            print(f"{address:012x} in VLAN {vid} is forgotten", flush=True)

    async def learn(self):
        await control.listen_to_digests(self.switch, "learn_t", max_list_size=64, max_timeout_ns=10_000_000)
        async for digest in self.switch.read_digests("learn_t"):
            for one in digest:
                key = (one["vid"], one["address"])
                if key not in self.static:
                    await self.learn_one(*key, one["port"], self.settings.get("age", 300))
            await self.switch.write([digest.ack()])

    async def age(self):
        async for notification in self.switch.read_idle_timeouts():
            for one in notification.table_entry:
                await self.forget(one.match["vid"], number(one.match["src_addr"]))


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, help="ports and VLANs")
    parser.add_argument(
        "-D", dest="defines", action="append", default=[], metavar="NAME", help="macro for the program (STORM_CONTROL)"
    )
    arguments = parser.parse_args()
    # A wrong file is reported before anything else.
    forms.read(arguments.file, FORM)
    again = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, again.set)
    async with control.controlled(HERE / "l2_switch.p4", arguments.grpc, *arguments.defines) as switch:
        bridge = Bridge(switch, arguments.file)
        await bridge.take_over()
        await bridge.load()

        await asyncio.gather(control.whenever(again, bridge.load), bridge.learn(), bridge.age())


if __name__ == "__main__":
    control.run(main)
