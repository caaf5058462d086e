#!/usr/bin/env python3
"""Copies the kernel's routing tables to router.p4, whichever program writes them: `ip`, FRR, BIRD, DHCP.

    control.py FILE [--grpc ADDRESS]

The switch has a TAP device for each port, which the file names. To the kernel these are the interfaces of the router:
it has their addresses, answers ARP and neighbour discovery, and sends ICMP. This program copies its routes and
neighbours into the tables, and follows their changes. SIGHUP reads the file again. router.toml beside this program is
an example. Needs finsy from PyPI, iproute2, and forebay in the PATH (or $FOREBAY); as root.
"""

import asyncio
import collections
import contextlib
import errno
import hashlib
import ipaddress
import itertools
import json
import math
import pathlib
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import control
import finsy as fy
import forms

# States of a neighbour whose link-layer address can be used (RFC 4861 §7.3.2). A stale one is used and then verified by
# the kernel.
USABLE = {"PERMANENT", "NOARP", "REACHABLE", "STALE", "DELAY", "PROBE"}
# Seconds within which changes are collected and written together.
SETTLE_SECONDS = 0.05
# Seconds before the kernel is asked again for a gateway that does not answer.
ASK_SECONDS = 30
# The tables that the kernel consults for every packet, in this order, unless there are policy rules.
TABLES = ("local", "main", "default")
# Multicast groups of linux/rtnetlink.h: links, neighbours, addresses, routes and rules of both versions, next hops.
NOTIFIED = (1, 3, 5, 7, 8, 9, 11, 19, 32)


# The keys of the file, required and optional ones, with their kinds.
FORM = forms.Form(
    {
        "interface": forms.tables(
            forms.Form(
                {"name": forms.text, "port": forms.switch_port, "host_port": forms.switch_port},
                {
                    "mac": forms.mac,
                    "mtu": forms.integer(68, 65535),
                    "addresses": forms.list_of(forms.interface_address),
                },
            )
        )
    },
    {"ecmp_slots": forms.integer(1, 65535)},
)


def checked(settings):
    """The settings, whose interfaces must have names and ports of their own."""
    interfaces = settings["interface"]
    forms.distinct("interfaces", (one["name"] for one in interfaces))
    forms.distinct("interfaces with the port", (one[key] for one in interfaces for key in ("port", "host_port")))
    return settings


def first_values(pairs):
    """An object of `ip`, which names some keys of a tunnel like those of the route that has it: these come first."""
    return dict(reversed(pairs))


def run(*words):
    """Runs a command, and returns its output. What it says of an error is that of the exception."""
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def ip(*words):
    return json.loads(run("ip", "-j", *words) or "[]", object_pairs_hook=first_values)


def needs_kernel(route):
    """Whether a route asks for more than a destination: for a source, a type of service, a tunnel."""
    return any(key in hop for hop in [route, *route.get("nexthops", [])] for key in ("from", "tos", "encap"))


def precedence(route):
    """Which of the routes to one prefix comes first."""
    return TABLES.index(route.get("table", "main")), not needs_kernel(route), route.get("metric", 0)


def entry(table, match, action, **parameters):
    return fy.P4TableEntry(table, match=fy.Match(match), action=fy.Action(action, **parameters))


def notifications():
    """A socket that is readable whenever the kernel has changed something, from now on."""
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE)
    made.bind((0, sum(1 << group - 1 for group in NOTIFIED)))
    return made


def rules():
    """The policy rules that choose tables by more than the destination, as `ip rule` has them in words."""
    for version in ("-4", "-6"):
        # A kernel without policy rules answers with an error.
        done = subprocess.run(["ip", version, "-j", "rule", "show"], capture_output=True, text=True)
        for rule in json.loads(done.stdout or "[]") if done.returncode == 0 else []:
            is_usual = rule.get("src") == "all" and rule.keys() <= {"priority", "src", "table", "protocol"}
            if not is_usual or rule.get("table") not in TABLES:
                yield " ".join(f"{key} {value}" if value is not None else key for key, value in rule.items())


class Kernel:
    """The kernel's state of the router's interfaces: addresses, neighbours, routes."""

    def __init__(self, interfaces):
        # Name -> settings.
        self.interfaces = interfaces
        self.macs, self.mtus = {}, {}
        for link in ip("link", "show"):
            if link["ifname"] in interfaces:
                self.macs[link["ifname"]] = link["address"]
                self.mtus[link["ifname"]] = link["mtu"]
        self.neighbours = {}
        for one in ip("neigh", "show"):
            # Of an interface that has come since `ip link` the next change tells.
            if one.get("dev") in self.macs and "lladdr" in one and USABLE & set(one.get("state", [])):
                self.neighbours[one["dev"], one["dst"]] = one["lladdr"]
        self.routes = [
            {**route, "dst": default if route["dst"] == "default" else route["dst"]}
            for version, default in (("-4", "0.0.0.0/0"), ("-6", "::/0"))
            for route in ip(version, "route", "show", "table", "all")
        ]

    def ways(self, route):
        """The next hops of a route: (interface, address or None for a connected network, weight). None if the switch
        cannot do what it asks for."""
        hops = route.get("nexthops", [route])
        if needs_kernel(route) or any(self.is_shorter(route, hop) for hop in hops):
            return []
        return [
            (hop.get("dev"), hop.get("gateway") or hop.get("via", {}).get("host"), hop.get("weight", 1)) for hop in hops
        ]

    def is_shorter(self, route, hop):
        """Whether a route takes shorter packets than the interface of a hop: next hops have the MTU of that."""
        return any(one.get("mtu", math.inf) < self.mtus.get(hop.get("dev"), 0) for one in route.get("metrics", []))


class Numbers:
    """Numbers for next hops and groups, which keep them as long as they are in the switch; also those that an earlier run
    has given."""

    def __init__(self):
        self.given = {}
        # What the switch has for a number -> the numbers that have it.
        self.earlier = {}
        self.taken = set()

    def remember(self, number, said):
        """An earlier run has given this number to something for which the switch has `said`."""
        self.earlier.setdefault(said, []).append(number)
        self.taken.add(number)

    def of(self, key, said, likely=None):
        """The number of a thing: a new thing for which the switch has the same takes a number of that, the `likely` one
        if it is among them."""
        if key not in self.given:
            numbers = self.earlier.get(said, [])
            number = likely if likely in numbers else numbers[0] if numbers else self.unused()
            if numbers:
                numbers.remove(number)
            self.given[key] = number
        return self.given[key]

    def forget_others(self, named):
        """Lets things have the numbers of those that are not in the switch any more: neighbours come and go."""
        for key in self.given.keys() - named:
            self.taken.discard(self.given.pop(key))

    def unused(self):
        number = next(number for number in itertools.count(len(self.given) + 1) if number not in self.taken)
        self.taken.add(number)
        return number


class Tables:
    """The entries for a state of the kernel."""

    def __init__(self, kernel, slots, numbers):
        self.kernel = kernel
        self.slots = slots
        self.numbers = numbers
        self.named = set()
        # Group -> the next hop of each slot.
        self.hops = {}
        self.entries = []
        self.seen = set()
        # Gateways without a known neighbour, of routes that others serve.
        self.unknown = set()
        # Network -> its route. Of two routes to one prefix that of the earlier table counts, then the one with the smaller
        # metric, but the kernel chooses if one of them is for some packets alone.
        self.routes = {}
        known = [route for route in kernel.routes if route.get("table", "main") in TABLES]
        for route in sorted(known, key=precedence):
            self.routes.setdefault(ipaddress.ip_network(route["dst"]), route)
        self.add_interfaces()
        self.add_neighbours()
        for network, route in self.routes.items():
            self.add_route(network, route)

    def add_interfaces(self):
        for name, one in self.kernel.interfaces.items():
            if name not in self.kernel.macs:
                continue
            mac = control.mac(self.kernel.macs[name])
            match = {"standard_metadata.ingress_port": one["port"]}
            self.entries.append(entry("interfaces", match, "set_interface", mac=mac, host_port=one["host_port"]))
            match = {"standard_metadata.ingress_port": one["host_port"]}
            self.entries.append(entry("host_ports", match, "from_host", port=one["port"]))

    def add_neighbours(self):
        """A next hop for each neighbour, and a host route to it."""
        for key in sorted(self.kernel.neighbours):
            name, address = key
            number = self.next_hop_number(key)
            if not ipaddress.ip_address(address).is_link_local and self.is_on_link(name, address):
                self.add_prefix(ipaddress.ip_network(address), "to_next_hop", next_hop=number)

    def is_on_link(self, name, address):
        """Whether packets to a neighbour go to it: the route with the longest prefix is that of a network at this interface.
        The kernel knows neighbours for which it has another route meanwhile."""
        host = ipaddress.ip_network(address)
        networks = (host.supernet(new_prefix=bits) for bits in range(host.prefixlen, -1, -1))
        route = next((self.routes[network] for network in networks if network in self.routes), None)
        return (
            route is not None
            and route.get("type", "unicast") == "unicast"
            and any(way[:2] == (name, None) for way in self.kernel.ways(route))
        )

    def next_hop_number(self, key):
        name, address = key
        action = {
            "port": self.kernel.interfaces[name]["port"],
            "src_mac": control.mac(self.kernel.macs[name]),
            "dst_mac": control.mac(self.kernel.neighbours[key]),
            "mtu": self.kernel.mtus[name],
        }
        number = self.numbers["next_hop"].of(key, tuple(action.values()), self.numbers["host"].get(address))
        if key not in self.named:
            self.named.add(key)
            self.entries.append(entry("next_hops", {"meta.next_hop": number}, "to_port", **action))
        return number

    def add_prefix(self, network, action, **parameters):
        if network in self.seen:
            return
        self.seen.add(network)
        table, key = (
            ("routes_ipv6", "hdr.ipv6.dst_addr") if network.version == 6 else ("routes_ipv4", "hdr.ipv4.dst_addr")
        )
        match = {key: str(network)} if network.prefixlen else {}
        self.entries.append(entry(table, match, action, **parameters))

    def add_route(self, network, route):
        kind = route.get("type", "unicast")
        if network.is_multicast or network.is_link_local or network.is_loopback:
            return
        if kind == "blackhole":
            self.add_prefix(network, "discard")
        elif kind == "unicast":
            self.add_unicast(network, self.kernel.ways(route))
        else:
            # The router's own addresses, and routes by which the kernel answers; `throw` ends a look-up in its table.
            self.add_prefix(network, "to_host")

    def add_unicast(self, network, ways):
        usable = [
            (name, gateway, weight)
            for name, gateway, weight in ways
            if gateway and (name, gateway) in self.kernel.neighbours
        ]
        if not usable:
            # A connected network, whose hosts have routes of their own once they are known; an unknown gateway, which
            # the kernel looks for; an interface that is not one of the router's.
            self.add_prefix(network, "to_host")
            return
        self.unknown.update(
            (name, gateway)
            for name, gateway, _ in ways
            if gateway and name in self.kernel.macs and (name, gateway) not in self.kernel.neighbours
        )
        if len(usable) == 1:
            self.add_prefix(network, "to_next_hop", next_hop=self.next_hop_number(usable[0][:2]))
        else:
            self.add_prefix(network, "to_group", group=self.group_number(tuple(sorted(usable))))

    def group_number(self, ways):
        if ways not in self.hops:
            self.hops[ways] = tuple(self.next_hop_number(way) for way in spread(ways, self.slots))
        number = self.numbers["group"].of(ways, self.hops[ways])
        if ways not in self.named:
            self.named.add(ways)
            for slot, hop in enumerate(self.hops[ways]):
                match = {"meta.group": number, "slot": slot}
                self.entries.append(entry("ecmp", match, "to_next_hop", next_hop=hop))
        return number


def spread(ways, slots):
    """The next hop of each slot, by rendezvous hashing: when a next hop goes, only its own slots change."""

    def score(slot, way, weight):
        value = (hash_of(f"{slot} {way}") + 1) / 2**64
        # Weighted rendezvous hashing: by the logarithm, shares are proportional to weights.
        return -weight / math.log(value)

    return [
        max(((name, gateway) for name, gateway, _ in ways), key=lambda way: score(slot, way, weight_of(ways, way)))
        for slot in range(slots)
    ]


def weight_of(ways, way):
    return next(weight for name, gateway, weight in ways if (name, gateway) == way)


def number(value):
    """A port, a MAC address or a length that was read, as a number."""
    return value if isinstance(value, int) else control.mac(str(value))


def hash_of(text):
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def interfaces_of(settings):
    return {one["name"]: one for one in settings["interface"]}


class Router:
    def __init__(self, switch, path, settings):
        self.switch = switch
        self.path = path
        self.interfaces = interfaces_of(settings)
        self.slots = settings.get("ecmp_slots", 64)
        self.entries = control.Entries(switch)
        # Nothing has been written yet: the first time is reported, whether or not there is anything to write.
        self.is_first = True
        self.numbers = {"next_hop": Numbers(), "group": Numbers(), "host": {}}
        # Gateway -> when the kernel was asked to look for it.
        self.asked = {}
        # Set when the kernel has changed something, or the file is to be read again.
        self.wake = asyncio.Event()
        self.is_told_to_read = False
        # The policy rules that have been reported.
        self.reported = set()

    def tell_to_read(self):
        """Has the file read again."""
        self.is_told_to_read = True
        self.wake.set()

    def configure(self, interfaces):
        """Sets the addresses of the file, and the kernel's options of a router. Addresses that a former file had are
        taken away."""
        # Fails before anything is changed if one is not there.
        present = {name: ip("link", "show", name)[0]["address"] for name in interfaces}
        for words in ("net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"):
            run("sysctl", "-qw", words)
        for name, one in interfaces.items():
            # An address that is set forgets all neighbours, also when it is the same.
            if "mac" in one and present[name] != one["mac"].lower():
                run("ip", "link", "set", name, "address", one["mac"])
            run("ip", "link", "set", name, "up", "mtu", str(one.get("mtu", 1500)))
            addresses = one.get("addresses", [])
            for address in addresses:
                nodad = ["nodad"] if ":" in address else []
                run("ip", "address", "replace", address, "dev", name, *nodad)
            before = self.interfaces.get(name, {}).get("addresses", [])
            for address in set(before) - set(addresses):
                # It may be gone already.
                subprocess.run(["ip", "address", "del", address, "dev", name], capture_output=True)
        self.interfaces = interfaces

    def read_again(self):
        settings = checked(forms.read(self.path, FORM))
        if settings.get("ecmp_slots", 64) != self.slots:
            raise forms.Wrong(f"{self.path}: `ecmp_slots` is part of the program; start control.py again to change it")
        try:
            self.configure(interfaces_of(settings))
        except subprocess.CalledProcessError as error:
            raise forms.Wrong(control.failure_of(error)) from None

    async def copy(self):
        """Writes the entries that differ: new next hops before the entries that name them; old ones are removed after
        those."""
        self.report_rules()
        tables = Tables(Kernel(self.interfaces), self.slots, self.numbers)
        self.look_for(tables.unknown)
        entries = tables.entries
        entries.sort(key=lambda one: "routes" in one.table_id)
        written = await self.entries.apply(entries)
        for kind in ("next_hop", "group"):
            self.numbers[kind].forget_others(tables.named)
        if any(written) or self.is_first:
            self.is_first = False
            routes = sum("routes" in one.table_id for one in entries)
            print(f"{routes} routes: {written}", flush=True)

    def report_rules(self):
        """Tells of rules that make the kernel forward in another way than the switch."""
        present = set(rules())
        for rule in sorted(present - self.reported):
            print(f"policy rule `{rule}`: the switch does not follow it, nor the routes of other tables", flush=True)
        self.reported = present

    def look_for(self, gateways):
        """Has the kernel look for gateways whose packets the switch sends to others: it gets none that would make it."""
        now = time.monotonic()
        self.asked = {key: self.asked[key] for key in gateways if key in self.asked}
        for name, gateway in gateways:
            if now - self.asked.get((name, gateway), -math.inf) >= ASK_SECONDS:
                self.asked[name, gateway] = now
                subprocess.run(["ip", "neigh", "replace", gateway, "dev", name, "use"], capture_output=True)

    async def take_over(self):
        """Makes what an earlier run has written the entries of this one. Next hops and groups keep their numbers."""
        await self.entries.take_over()
        for one in self.entries.present("next_hops"):
            args = one.action.args
            if args:
                said = tuple(number(args[name]) for name in ("port", "src_mac", "dst_mac", "mtu"))
                self.numbers["next_hop"].remember(one.match["next_hop"], said)
        # Several neighbours may have one MAC address: of those, the route to each names its next hop.
        for table, kind in (("routes_ipv4", ipaddress.IPv4Address), ("routes_ipv6", ipaddress.IPv6Address)):
            for one in self.entries.present(table):
                if one.match and "next_hop" in one.action.args:
                    address, _ = one.match["dst_addr"]
                    self.numbers["host"][str(kind(address))] = one.action.args["next_hop"]
        groups = collections.defaultdict(dict)
        for one in self.entries.present("ecmp"):
            groups[one.match["group"]][one.match["slot"]] = one.action.args.get("next_hop")
        for group, slots in groups.items():
            self.numbers["group"].remember(group, tuple(slots[slot] for slot in sorted(slots)))

    async def follow_links(self):
        """Gives each TAP device the carrier of its wire: the kernel forgets the neighbours behind a link that is down, and
        routing daemons learn of it."""
        before = {}
        async for is_up in control.links(self.switch):
            for name, one in self.interfaces.items():
                up = is_up.get(one["port"])
                if up is None or up == before.get(name):
                    continue
                # An earlier run may have left it as it was then. Without the device there is an error, and no route by it.
                subprocess.run(["ip", "link", "set", name, "carrier", "on" if up else "off"], capture_output=True)
                if name in before or not up:
                    print(f"{name} is {'up' if up else 'down'}", flush=True)
                before[name] = up

    async def has_changed(self):
        """Waits until the kernel reports a change, or the file is to be read again. Meanwhile the kernel is asked again for
        gateways: the failure to find one is the last that it reports of it."""
        while True:
            try:
                async with asyncio.timeout(ASK_SECONDS if self.asked else None):
                    await self.wake.wait()
                    return
            except TimeoutError:
                self.look_for(set(self.asked))

    def hear(self, monitor):
        """Takes the kernel's notifications. What they say is read from the kernel afterwards."""
        self.wake.set()
        try:
            while monitor.recv(65536):
                pass
        except BlockingIOError:
            pass
        except OSError as error:
            # Some are lost, which is a change like any other.
            if error.errno != errno.ENOBUFS:
                raise

    async def follow(self):
        """Copies, and again whenever the kernel reports a change. It reports those that come while the first copy is made,
        too."""
        loop = asyncio.get_running_loop()
        with contextlib.closing(notifications()) as monitor:
            loop.add_reader(monitor, self.hear, monitor)
            try:
                await self.copy()
                while True:
                    await self.has_changed()
                    # Changes reported meanwhile are part of the state that is read then.
                    await asyncio.sleep(SETTLE_SECONDS)
                    self.wake.clear()
                    await self.update()
            finally:
                loop.remove_reader(monitor)

    async def update(self):
        if self.is_told_to_read:
            self.is_told_to_read = False
            try:
                self.read_again()
                self.is_first = True
            except forms.Wrong as wrong:
                print(f"nothing is changed: {wrong}", flush=True)
        # The next change tries again what is refused.
        with control.refusals_reported("the routes in the switch stay as they are"):
            await self.copy()


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, help="interfaces and addresses")
    arguments = parser.parse_args()
    settings = checked(forms.read(arguments.file, FORM))
    is_told_to_read = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, is_told_to_read.set)
    async with control.controlled(
        HERE / "router.p4", arguments.grpc, f"ECMP_SLOTS={settings.get('ecmp_slots', 64)}"
    ) as switch:
        router = Router(switch, arguments.file, settings)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, router.tell_to_read)
        if is_told_to_read.is_set():
            router.tell_to_read()
        router.configure(router.interfaces)
        await router.take_over()
        await asyncio.gather(router.follow(), router.follow_links())


if __name__ == "__main__":
    control.run(main)
