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

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import control
import finsy as fy
import forms

STATES = {"blocked": 0, "learning": 1, "forwarding": 2}
# The port of the controller, as in l2_switch.p4.
CPU_PORT = 510


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
        "age": forms.number(control.SECONDS_MAX),
        "static": forms.tables(forms.Form({"vlan": VID, "address": forms.mac, "port": forms.switch_port})),
    },
)


def cpu_port(defines):
    """The port of the controller with these macros."""
    values = [value for name, _, value in (one.partition("=") for one in defines) if name == "CPU_PORT"]
    try:
        return int(values[-1], 0) if values else CPU_PORT
    except ValueError:
        raise forms.Wrong(f"-D CPU_PORT={values[-1]}: a number from 0 to 510 is right") from None


def checked(settings, of_controller=CPU_PORT):
    """The settings, whose parts must name each other and not contradict each other."""
    forms.distinct("ports", (port["number"] for port in settings["port"]))
    if of_controller in (port["number"] for port in settings["port"]):
        raise forms.Wrong(f"port {of_controller} is that of the controller: another number is right")
    for port in settings["port"]:
        vids = [*port.get("tagged", []), *([port["untagged"]] if "untagged" in port else [])]
        forms.distinct(f"memberships of port {port['number']} in VLAN", vids)
    static = settings.get("static", [])
    forms.distinct("static addresses", (f"{one['address'].lower()} in VLAN {one['vlan']}" for one in static))
    ports = members(settings)
    for one in static:
        if one["port"] not in ports.get(one["vlan"], {}):
            raise forms.Wrong(f"static {one['address']}: port {one['port']} is not in VLAN {one['vlan']}")
    return settings


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
    forwarding = ports_in(settings, "forwarding")
    for vid, ports in members(settings).items():
        for number, is_tagged in ports.items():
            yield entry("members", {"meta.vid": vid, "standard_metadata.ingress_port": number}, "NoAction")
            # By other ports nothing leaves, frames to stations that are known there included.
            if number in forwarding[vid]:
                action = "tagged" if is_tagged else "untagged"
                yield entry("egress_members", {"meta.vid": vid, "standard_metadata.egress_port": number}, action)


def ports_in(settings, *states):
    """VLAN -> its ports that are in one of these states."""
    own = {port["number"]: port.get("state", "forwarding") for port in settings["port"]}
    return {vid: sorted(port for port in ports if own[port] in states) for vid, ports in members(settings).items()}


def number(address):
    """A MAC address that was read, as a number."""
    return address if isinstance(address, int) else control.mac(str(address))


def tell_forgotten(vid, address):
    print(f"{address:012x} in VLAN {vid} is forgotten", flush=True)


class Bridge:
    def __init__(self, switch, path, of_controller=CPU_PORT):
        self.switch = switch
        self.path = path
        self.of_controller = of_controller
        self.settings = {}
        self.entries = control.Entries(switch)
        # VLAN -> ports that forward.
        self.groups = {}
        # (VLAN, address) -> port. Static ones never move and never age.
        self.known = {}
        self.static = {}
        # Seconds after which all learnt addresses are forgotten; None if they differ.
        self.learnt_age = None
        # Held by what writes and then remembers it.
        self.lock = asyncio.Lock()

    async def load(self):
        settings = checked(forms.read(self.path, FORM), self.of_controller)
        groups = ports_in(settings, "forwarding")
        static = {(one["vlan"], control.mac(one["address"])): one["port"] for one in settings.get("static", [])}
        async with self.lock:
            lost = self.lost(ports_in(settings, "learning", "forwarding"), static)
            entries = [fy.P4MulticastGroupEntry(vid, replicas=ports) for vid, ports in groups.items()]
            age = settings.get("age", 300)
            addresses = [*self.static_updates(static), *((control.DELETE, one) for one in self.forgotten(lost))]
            if age != self.learnt_age:
                kept = self.known.keys() - static.keys() - set(lost)
                addresses += [(control.MODIFY, self.source_entry(*key, self.known[key], age)) for key in sorted(kept)]
            written = await self.entries.apply([*entries, *port_entries(settings)], also=addresses)
            self.settings, self.groups, self.static, self.learnt_age = settings, groups, static, age
            self.known |= static
            for key in lost:
                del self.known[key]
        for key in lost:
            tell_forgotten(*key)
        print(f"{len(settings['port'])} ports, {len(groups)} VLANs: {written}", flush=True)

    async def take_over(self):
        """Makes what an earlier run has written the entries of this one, and remembers the addresses that it has
        learnt."""
        await self.entries.take_over(learnt=("source_addresses", "destinations"))
        # With an age of 0 learnt addresses have no time either.
        learnt_age = forms.read(self.path, FORM).get("age", 300)
        times = set()
        async for one in self.switch.read(fy.P4TableEntry("source_addresses")):
            key = one.match["vid"], number(one.match["src_addr"])
            self.known[key] = one.action.args["port"]
            if one.idle_timeout_ns == 0 and learnt_age != 0:
                self.static[key] = self.known[key]
            else:
                times.add(one.idle_timeout_ns)
        if times <= {int(learnt_age * 1e9)}:
            self.learnt_age = learnt_age

    def lost(self, ports, static):
        """The addresses of ports that do not learn in their VLAN any more, and those that were static. `ports`: those that
        do."""
        return [
            key
            for key, port in self.known.items()
            if key not in static and (port not in ports.get(key[0], []) or key in self.static)
        ]

    def static_updates(self, static):
        for key, port in static.items():
            kind = control.MODIFY if key in self.known else control.INSERT
            for one in self.address_entries(*key, port, 0):
                yield kind, one

    def forgotten(self, keys):
        for key in keys:
            yield from self.address_entries(*key, self.known[key], 0)

    def source_entry(self, vid, address, port, idle):
        match = {"meta.vid": vid, "hdr.ethernet.src_addr": address}
        return entry("source_addresses", match, "known", port=port, idle=idle)

    def address_entries(self, vid, address, port, idle):
        yield self.source_entry(vid, address, port, idle)
        yield entry("destinations", {"meta.vid": vid, "hdr.ethernet.dst_addr": address}, "forward", port=port)

    async def learn_one(self, vid, address, port):
        async with self.lock:
            before = self.known.get((vid, address))
            if (vid, address) in self.static or before == port:
                return
            is_full = self.is_full(port)
            if not is_full:
                kind = control.INSERT if before is None else control.MODIFY
                entries = self.address_entries(vid, address, port, self.settings.get("age", 300))
                with control.refusals_reported(f"{address:012x} in VLAN {vid} is not learnt"):
                    await control.write(self.switch, [(kind, one) for one in entries])
                    self.known[vid, address] = port
                    print(f"{address:012x} is on port {port} in VLAN {vid}", flush=True)
        if is_full:
            # A station that has moved there is flooded to, like others that the port has no room for.
            await self.forget(vid, address)

    def is_full(self, port):
        """Whether a port has its greatest number of addresses."""
        limit = next((one.get("addresses_max") for one in self.settings["port"] if one["number"] == port), None)
        return limit is not None and sum(other == port for other in self.known.values()) >= limit

    async def forget(self, vid, address):
        async with self.lock:
            # A notification may have been under way when the address became static.
            if (vid, address) not in self.known or (vid, address) in self.static:
                return
            with control.refusals_reported(f"{address:012x} in VLAN {vid} stays"):
                await control.write(self.switch, [(control.DELETE, one) for one in self.forgotten([(vid, address)])])
                del self.known[vid, address]
                tell_forgotten(vid, address)

    async def forget_port(self, port):
        """Forgets what was learnt at a port whose link is down, as a bridge of Linux does: its stations may be behind
        others now."""
        async with self.lock:
            keys = [key for key, known in self.known.items() if known == port and key not in self.static]
            if not keys:
                return
            with control.refusals_reported(f"{len(keys)} addresses of port {port}, which is down, stay"):
                await control.write(self.switch, [(control.DELETE, one) for one in self.forgotten(keys)])
                for key in keys:
                    del self.known[key]
                print(f"port {port} is down: {len(keys)} addresses are forgotten", flush=True)

    async def follow_links(self):
        async for is_up in control.links(self.switch):
            for port in sorted(one for one, up in is_up.items() if not up):
                await self.forget_port(port)

    async def learn(self):
        await control.listen_to_digests(self.switch, "learn_t", max_list_size=64, max_timeout_ns=10_000_000)
        async for digest in self.switch.read_digests("learn_t"):
            for one in digest:
                await self.learn_one(one["vid"], one["address"], one["port"])
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
    of_controller = cpu_port(arguments.defines)
    checked(forms.read(arguments.file, FORM), of_controller)
    again = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, again.set)
    async with control.controlled(HERE / "l2_switch.p4", arguments.grpc, *arguments.defines) as switch:
        bridge = Bridge(switch, arguments.file, of_controller)
        await bridge.take_over()
        await bridge.load()

        await asyncio.gather(
            control.whenever(again, bridge.load), bridge.learn(), bridge.age(), bridge.follow_links()
        )


if __name__ == "__main__":
    control.run(main)
