#!/usr/bin/env python3
"""Controls load_balancer.p4: services and back ends come from a file, health checks choose among them.

    control.py FILE [--check SECONDS] [--pin-idle SECONDS] [--grpc ADDRESS]

SIGHUP reads the file again. A back end whose weight is 0 is drained: it keeps its connections and gets no new ones. One
that fails three checks in a row is dead: its connections move. One that answers twice in a row is alive again.
load_balancer.toml beside this program is an example. Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import argparse
import asyncio
import ipaddress
import itertools
import math
import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import control
import finsy as fy
import forms
import maglev
from numbering import numbered

PROTOCOLS = {"tcp": 6, "udp": 17}
WEIGHT_MAX = 1000
# Services are numbered in bit<16>.
SERVICES_MAX = 65535
FAILURES_UNTIL_DEAD, ANSWERS_UNTIL_ALIVE = 3, 2


MODES = ("nat", "ipip", "gue", "mac")
# The keys of the file, required and optional ones, with their kinds.
BACKEND = forms.Form(
    {
        "number": forms.integer(1, 4095),
        "mode": forms.one_of(*MODES),
        "address": forms.address,
        "next_hop": forms.integer(1, 1 << 31),
    },
    {
        "port": forms.tcp_port,
        "weight": forms.number(WEIGHT_MAX),
        "check": forms.Form({"address": forms.address, "port": forms.tcp_port}, {"path": forms.text}),
    },
)
SERVICE = forms.Form(
    {
        "address": forms.address,
        "protocol": forms.one_of(*PROTOCOLS),
        "port": forms.tcp_port,
        "backends": forms.list_of(forms.integer(1, 4095)),
    },
    {"idle": forms.integer(1, 65535)},
)
NEXT_HOPS = forms.tables(
    forms.Form(
        {"number": forms.integer(1, 1 << 31), "port": forms.switch_port, "mac": forms.mac, "peer_mac": forms.mac},
        {"mtu": forms.integer(68, 65535)},
    )
)
FORM = forms.Form(
    {"service": forms.tables(SERVICE), "backend": forms.tables(BACKEND), "next_hop": NEXT_HOPS},
    {
        "tunnel_source": forms.address_ipv4,
        "tunnel_source_ipv6": forms.address_ipv6,
        "own": forms.tables(forms.Form({"port": forms.switch_port, "address": forms.address, "mac": forms.mac})),
        "route": forms.tables(forms.Form({"prefix": forms.network, "next_hop": forms.integer(1, 1 << 31)})),
    },
)


def checked(settings):
    """The settings, whose parts must name each other."""
    numbers = {one["number"] for one in settings["backend"]}
    hops = {one["number"] for one in settings["next_hop"]}
    routes = settings.get("route", [])
    forms.distinct("next hops", (one["number"] for one in settings["next_hop"]))
    forms.distinct("back ends", (one["number"] for one in settings["backend"]))
    forms.distinct("services", map(named, settings["service"]))
    forms.distinct("routes to", (one["prefix"] for one in routes))
    for one in routes:
        if one["next_hop"] not in hops:
            raise forms.Wrong(f"route {one['prefix']}: there is no next hop {one['next_hop']}")
    for one in settings["backend"]:
        if one["next_hop"] not in hops:
            raise forms.Wrong(f"back end {one['number']}: there is no next hop {one['next_hop']}")
        if one["mode"] == "nat" and "port" not in one:
            raise forms.Wrong(f"back end {one['number']}: the mode nat needs the key `port`")
        source = "tunnel_source_ipv6" if version(one["address"]) == 6 else "tunnel_source"
        if one["mode"] in ("ipip", "gue") and source not in settings:
            raise forms.Wrong(f"back end {one['number']}: the mode {one['mode']} needs the key `{source}` of the file")
    for one in settings["service"]:
        if unknown := set(one["backends"]) - numbers:
            raise forms.Wrong(f"service {one['address']}: there is no back end {min(unknown)}")
        forms.distinct(f"back ends of service {named(one)}:", one["backends"])
    for one in settings["backend"]:
        if one["mode"] == "nat":
            check_nat(one, [service for service in settings["service"] if one["number"] in service["backends"]])
    return settings


def named(service):
    """What a service is called in messages."""
    return f"{service['address']} {service['protocol']} {service['port']}"


def check_nat(backend, services):
    """Answers of a back end behind NAT must belong to one service, of its version of IP."""
    what = f"back end {backend['number']} with the mode nat"
    for protocol in PROTOCOLS:
        its = [named(service) for service in services if service["protocol"] == protocol]
        if len(its) > 1:
            raise forms.Wrong(f"{what}: it answers for {' and '.join(its)}; a back end with another port for each is right")
    for service in services:
        if version(service["address"]) != version(backend["address"]):
            raise forms.Wrong(f"{what}: an `address` of the version of its service {service['address']} is right")


def entry(table, match, action, *, idle=0, **parameters):
    return fy.P4TableEntry(
        table, match=fy.Match(match), action=fy.Action(action, **parameters), idle_timeout_ns=int(idle * 1e9)
    )


def mapped(address):
    """An address as a field for both versions: IPv4 addresses become IPv4-mapped ones."""
    one = ipaddress.ip_address(address)
    return int(one) if one.version == 6 else 0xFFFF << 32 | int(one)


def version(address):
    return ipaddress.ip_address(address).version


def backend_action(settings, one):
    """The action that sends packets to a back end."""
    mode, hop = one["mode"], {"next_hop": one["next_hop"]}
    if mode == "nat":
        return fy.Action("nat", dst_addr=mapped(one["address"]), port=one["port"], **hop)
    if mode == "mac":
        return fy.Action("by_mac", **hop)
    kind = version(one["address"])
    source = settings["tunnel_source_ipv6" if kind == 6 else "tunnel_source"]
    return fy.Action(f"{mode}_ipv{kind}", src_addr=source, dst_addr=one["address"], **hop)


def service_entries(settings, numbers):
    for one in settings["service"]:
        number = numbers[named(one)]
        kind = version(one["address"])
        match = {
            f"hdr.ipv{kind}.dst_addr": one["address"],
            "meta.protocol": PROTOCOLS[one["protocol"]],
            "meta.service_port": one["port"],
        }
        yield entry(f"services_ipv{kind}", match, "set_service", service=number, idle_seconds=one.get("idle", 300))


def backend_entries(settings):
    for one in settings["backend"]:
        yield fy.P4TableEntry(
            "backends", match=fy.Match({"meta.backend": one["number"]}), action=backend_action(settings, one)
        )
        if one["mode"] == "nat":
            for service in settings["service"]:
                if one["number"] in service["backends"]:
                    yield return_entry(one, service)


def return_entry(one, service):
    """Packets of a back end behind NAT get the address and port of its service as source."""
    kind = version(one["address"])
    match = {
        f"hdr.ipv{kind}.src_addr": one["address"],
        "meta.protocol": PROTOCOLS[service["protocol"]],
        "source_port": one["port"],
    }
    return entry(
        f"returns_ipv{kind}", match, "set_source", src_addr=mapped(service["address"]), src_port=service["port"]
    )


def number_of(value):
    """A field or a parameter that was read, as a number."""
    return value if isinstance(value, int) else int(ipaddress.ip_address(value))


def way_entries(settings):
    """Next hops, routes, and the addresses that are answered for."""
    for hop in settings["next_hop"]:
        macs = {"src_mac": control.mac(hop["mac"]), "dst_mac": control.mac(hop["peer_mac"])}
        yield entry(
            "next_hops", {"meta.next_hop": hop["number"]}, "to_port", port=hop["port"], mtu=hop.get("mtu", 1500), **macs
        )
    for route in settings.get("route", []):
        table, key = (
            ("routes_ipv6", "hdr.ipv6.dst_addr") if ":" in route["prefix"] else ("routes_ipv4", "hdr.ipv4.dst_addr")
        )
        yield entry(
            table,
            {} if route["prefix"].endswith("/0") else {key: route["prefix"]},
            "to_next_hop",
            next_hop=route["next_hop"],
        )
    for own in settings.get("own", []):
        match = {"port": own["port"], "address": own["address"]}
        if version(own["address"]) == 6:
            yield entry("nd_ipv6", match, "nd_advertise", mac=control.mac(own["mac"]))
        else:
            yield entry("arp_ipv4", match, "arp_reply", mac=control.mac(own["mac"]))
    stations = {(one["port"], one["mac"].lower()) for name in ("own", "next_hop") for one in settings.get(name, [])}
    for port, mac in sorted(stations):
        yield entry("stations", {"port": port, "address": control.mac(mac)}, "NoAction")
    own = [one["address"] for name in ("own", "service") for one in settings.get(name, [])]
    for address in sorted(set(map(ipaddress.ip_address, own)), key=lambda one: (one.version, one)):
        kind = address.version
        yield entry(f"own_ipv{kind}", {f"hdr.ipv{kind}.dst_addr": f"{address}"}, "NoAction")


def pinned_key(one):
    """The connection of a digest or of a match that was read; the latter has the short names of its fields."""
    values = [one[name] for name in ("client", "address", "protocol", "client_port", "service_port")]
    return tuple(map(number_of, values))


def with_check(settings):
    """The numbers of the back ends that have health checks."""
    return {one["number"] for one in settings["backend"] if "check" in one}


class LoadBalancer:
    def __init__(self, switch, path, slots, pin_idle):
        self.switch = switch
        self.path = path
        self.slots = slots
        self.pin_idle = pin_idle
        self.settings = {}
        self.entries = control.Entries(switch)
        # Connection -> its entry.
        self.pinned = {}
        # Whether frames to other stations are dropped.
        self.refuses_others = False
        self.dead = set()
        self.results = {}
        # Held by what writes for a file or for health checks.
        self.lock = asyncio.Lock()

    async def load(self):
        settings = checked(forms.read(self.path, FORM))
        async with self.lock:
            # Without a check nothing would find a dead back end alive again.
            await self.apply(settings, self.dead & with_check(settings))

    def service_numbers(self, settings):
        """The number of each service. One that is in the switch keeps its own: a connection that begins while the entries
        are written must not find the slots of another service."""
        known = {}
        protocols = {number: name for name, number in PROTOCOLS.items()}
        for table, kind in (("services_ipv4", ipaddress.IPv4Address), ("services_ipv6", ipaddress.IPv6Address)):
            for one in self.entries.present(table):
                match = one.match
                value = match["dst_addr"]
                address = kind(value if isinstance(value, int) else str(value))
                known[address, protocols[match["protocol"]], match["service_port"]] = one.action.args["service"]
        said = {
            named(one): known.get((ipaddress.ip_address(one["address"]), one["protocol"], one["port"]))
            for one in settings["service"]
        }
        kept = {name: number for name, number in said.items() if number}
        return numbered(list(said), kept, set(known.values()), SERVICES_MAX)

    def kept_returns(self, settings):
        """The answers of back ends behind NAT for services that do not name them any more: such a back end keeps its
        connections, as a drained one does, while the file has both."""
        nat = [one for one in settings["backend"] if one["mode"] == "nat"]
        places = {(mapped(one["address"]), one["port"]) for one in nat}
        named = {
            (mapped(one["address"]), PROTOCOLS[service["protocol"]], one["port"])
            for service in settings["service"]
            for one in nat
            if one["number"] in service["backends"]
        }
        services = {(mapped(one["address"]), PROTOCOLS[one["protocol"]], one["port"]) for one in settings["service"]}
        for kind, base in ((4, 0xFFFF << 32), (6, 0)):
            for one in self.entries.present(f"returns_ipv{kind}"):
                address, protocol, port = (number_of(one.match[key]) for key in ("src_addr", "protocol", "source_port"))
                source, source_port = (number_of(one.action.args[key]) for key in ("src_addr", "src_port"))
                place = base + address, protocol, port
                if (place[0], port) in places and place not in named and (source, protocol, source_port) in services:
                    match = {f"hdr.ipv{kind}.src_addr": address, "meta.protocol": protocol, "source_port": port}
                    yield entry(f"returns_ipv{kind}", match, "set_source", src_addr=source, src_port=source_port)

    def maglev_entries(self, settings, numbers, dead):
        weights = {one["number"]: one.get("weight", 1) for one in settings["backend"]}
        for service in settings["service"]:
            number = numbers[named(service)]
            usable = {f"{one}": weights[one] for one in service["backends"] if one not in dead}
            for slot, backend in enumerate(maglev.table(usable, self.slots)):
                if backend is not None:
                    yield entry("maglev", {"meta.service": number, "slot": slot}, "set_backend", backend=int(backend))

    async def apply(self, settings, dead):
        """Writes the entries that follow from the file and the health checks. Entries that do not differ stay."""
        numbers = {one["number"] for one in settings["backend"]}
        # A back end that is not in the file any more is dead: its connections move.
        gone = {one.match["backend"] for one in self.entries.present("backends")} - numbers
        alive = {number: int(number not in dead) for number in numbers} | dict.fromkeys(gone, 0)
        registers = [
            (control.MODIFY, fy.P4RegisterEntry("alive", index=number, data=is_alive))
            for number, is_alive in sorted(alive.items())
        ]
        # A back end must be alive before a slot names it. One that no slot names gets nothing, so this needs no undoing.
        await control.write(self.switch, [one for one in registers if one[1].data])
        services = self.service_numbers(settings)
        parts = (
            way_entries(settings),
            backend_entries(settings),
            self.kept_returns(settings),
            self.maglev_entries(settings, services, dead),
        )
        entries = [*itertools.chain(*parts), *service_entries(settings, services)]
        written = await self.entries.apply(entries, also=registers)
        # Once: with each reading the switch would copy tables.
        if not self.refuses_others:
            action = fy.Action("is_other")
            await control.write(
                self.switch, [(control.MODIFY, fy.P4TableEntry("stations", action=action, is_default_action=True))]
            )
            self.refuses_others = True
        self.settings, self.dead = settings, dead
        print(written, flush=True)
        await self.unpin_dead()

    async def take_over(self):
        """Makes what an earlier run has written the entries of this one: dead back ends and pinned connections, too."""
        await self.entries.take_over(learnt=("pinned",))
        for backend in self.entries.present("backends"):
            number = backend.match["backend"]
            async for one in self.switch.read(fy.P4RegisterEntry("alive", index=number)):
                if one.data == 0:
                    self.dead.add(number)
        async for one in self.switch.read(fy.P4TableEntry("pinned")):
            self.pinned[pinned_key(one.match)] = one

    def takes(self, backend):
        """Whether connections stay at a back end: it is in the file, and not dead."""
        return backend not in self.dead and any(one["number"] == backend for one in self.settings["backend"])

    async def pin(self):
        """Connections without a place in the registers get an entry each."""
        await control.listen_to_digests(self.switch, "overflow_t", max_timeout_ns=10_000_000)
        async for digest in self.switch.read_digests("overflow_t"):
            async with self.lock:
                await self.pin_all(digest)
            await self.switch.write([digest.ack()])

    async def pin_all(self, overflows):
        """Pins connections. One whose back end has died on the way is told of again, with another one."""
        entries = {
            key: self.pinned_entry(one)
            for one in overflows
            if (key := pinned_key(one)) not in self.pinned and self.takes(one["backend"])
        }
        with control.refusals_reported(f"{len(entries)} connections are not pinned"):
            await control.write(self.switch, [(control.INSERT, one) for one in entries.values()])
            self.pinned |= entries

    async def unpin_dead(self):
        """Connections of a dead back end have moved. Without their entries they stay where they are when it comes back."""
        gone = {key: one for key, one in self.pinned.items() if not self.takes(one.action.args["backend"])}
        with control.refusals_reported(f"{len(gone)} connections stay pinned to back ends that are dead"):
            await control.write(self.switch, [(control.DELETE, one) for one in gone.values()])
            for key in gone:
                del self.pinned[key]

    def pinned_entry(self, one):
        match = {name: one[name] for name in ("client", "address")}
        match |= {f"meta.{name}": one[name] for name in ("protocol", "client_port", "service_port")}
        return entry("pinned", match, "set_backend", backend=one["backend"], idle=self.pin_idle)

    async def unpin(self):
        async for notification in self.switch.read_idle_timeouts():
            for one in notification.table_entry:
                async with self.lock:
                    await self.unpin_idle(one)

    async def unpin_idle(self, one):
        """Lets a connection go that the switch has reported as idle. While the report was under way or waited for a file
        to be written, packets may have come: then the connection stays, and the switch reports it again."""
        if pinned_key(one.match) not in self.pinned:
            return
        with control.refusals_reported("a pinned connection stays"):
            if await self.idle_seconds(one) >= self.pin_idle:
                await self.switch.delete([one])
                del self.pinned[pinned_key(one.match)]

    async def idle_seconds(self, one):
        """How long no packet has hit an entry, as the switch says now."""
        wanted = fy.P4TableEntry("pinned", match=one.match, time_since_last_hit=0)
        async for found in self.switch.read(wanted):
            return found.time_since_last_hit / 1e9
        # The switch has no such entry, and says so when it is to be deleted.
        return math.inf

    async def check(self, seconds):
        """Health checks of all back ends, side by side."""
        while True:
            await asyncio.sleep(seconds)
            backends = [one for one in self.settings["backend"] if "check" in one]
            answers = await asyncio.gather(*(answers_check(one["check"], seconds) for one in backends))
            async with self.lock:
                # The file may have been read again meanwhile.
                checked_now, dead = with_check(self.settings), set(self.dead)
                for one, is_well in zip(backends, answers, strict=True):
                    if one["number"] in checked_now:
                        self.judge(one["number"], is_well, dead)
                if dead != self.dead:
                    # The next check tries again what is refused.
                    with control.refusals_reported("back ends stay as they are"):
                        await self.apply(self.settings, dead)

    def judge(self, number, is_well, dead):
        """Counts results in a row: above 0 answers, below 0 failures."""
        row = self.results.get(number, 0)
        self.results[number] = row = max(row, 0) + 1 if is_well else min(row, 0) - 1
        if row <= -FAILURES_UNTIL_DEAD and number not in dead:
            dead.add(number)
            print(f"back end {number} is dead", flush=True)
        elif row >= ANSWERS_UNTIL_ALIVE and number in dead:
            dead.discard(number)
            print(f"back end {number} is alive", flush=True)


def request_of(check):
    """The request of a check with a `path`. Its host is as in a URL: addresses of IPv6 have brackets (RFC 3986 §3.2.2)."""
    address = check["address"]
    host = f"[{address}]" if version(address) == 6 else address
    return f"GET {check['path']} HTTP/1.0\r\nHost: {host}:{check['port']}\r\n\r\n".encode()


async def answers_check(check, seconds):
    """Whether a back end accepts a connection and, if the check has a `path`, answers a request for it with 200."""
    try:
        async with asyncio.timeout(max(seconds, 1)):
            reader, writer = await asyncio.open_connection(check["address"], check["port"])
            try:
                if "path" not in check:
                    return True
                writer.write(request_of(check))
                status = await reader.readline()
                return status.split()[1:2] == [b"200"]
            finally:
                writer.close()
    # ValueError: a line that is longer than the limit of the reader.
    except (OSError, TimeoutError, ValueError):
        return False


def slots(text):
    """The number of slots, as an option. If it is no prime, a back end does not reach every slot."""
    number = int(text) if text.isdecimal() else 0
    if not 2 < number < 65536 or any(number % one == 0 for one in range(2, math.isqrt(number) + 1)):
        raise argparse.ArgumentTypeError(f"`{text}`: a prime from 3 to 65521 is right")
    return number


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, help="services and back ends")
    parser.add_argument("--check", type=control.seconds(0.1), default=2, metavar="SECONDS", help="between health checks (2)")
    parser.add_argument("--slots", type=slots, default=4093, metavar="N", help="slots of a Maglev table, a prime (4093)")
    parser.add_argument(
        "--pin-idle", type=control.seconds(1), default=300, metavar="SECONDS", help="how long a pinned connection stays idle (300)"
    )
    arguments = parser.parse_args()
    # A wrong file is reported before anything else.
    checked(forms.read(arguments.file, FORM))
    again = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, again.set)
    async with control.controlled(HERE / "load_balancer.p4", arguments.grpc, f"SLOTS={arguments.slots}") as switch:
        balancer = LoadBalancer(switch, arguments.file, arguments.slots, arguments.pin_idle)
        await balancer.take_over()
        await balancer.load()

        await asyncio.gather(
            control.whenever(again, balancer.load), balancer.pin(), balancer.unpin(), balancer.check(arguments.check)
        )


if __name__ == "__main__":
    control.run(main)
