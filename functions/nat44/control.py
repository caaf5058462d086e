#!/usr/bin/env python3
"""Configures nat44.p4 and logs its events: blocks of ports, refusals, and mappings if requested.

    control.py FILE [--log FILE] [--grpc ADDRESS]

SIGHUP reads the file again, and opens the log again, as log rotation needs it. SIGUSR1 writes all present mappings to
the log. A line of the log is a JSON object with `time` and `event`: block, release, mapping, refusal, session.
nat44.toml beside this program is an example. Needs finsy from PyPI, and forebay in the PATH (or $FOREBAY).
"""

import asyncio
import functools
import ipaddress
import pathlib
import secrets
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import control
import finsy as fy
import forms
from pools import numbered

PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17}
NAMES = {number: name for name, number in PROTOCOLS.items()}
FILTERING = {"any": 0, "address": 1, "address-and-port": 2}
# Kinds of routes in packet.p4.
OUTSIDE, OUTSIDE_UNTRANSLATED, INSIDE = 1, 2, 3
REFUSALS = {11: "no pool", 12: "no free block", 13: "no free port"}
DIGESTS = ("block_t", "mapping_t", "refusal_t")
# Tables whose entries come from packets alone; static mappings are among those of inbound and outbound.
LEARNT = ("subscribers", "blocks", "filters", "fragments")
MAPPING_SECONDS = ("udp_seconds", "icmp_seconds", "tcp_transitory_seconds", "tcp_established_seconds")
# As in packet.p4. A subscriber that `subscribers` has no room for would get another block with each mapping.
SUBSCRIBERS, FIRST_PORTS = 65536, 1024
# Entries of one write, which is one message.
DELETED_AT_ONCE = 10_000
# Within this time after a block has been given back the switch says so: it looks every 0.1 s. No block ends earlier
# than after a second.
RELEASE_SECONDS = 0.5
# As in packet.p4. A block stays longer than any mapping of its subscriber, or another subscriber would get it meanwhile.
BLOCK_SECONDS, BLOCK_EXCESS_SECONDS = 7500, 60


# The keys of the file, required and optional ones, with their kinds.
FORM = forms.Form(
    {
        "interface": forms.tables(
            forms.Form(
                {
                    "port": forms.switch_port,
                    "realm": forms.one_of("inside", "outside"),
                    "address": forms.address_ipv4,
                    "mac": forms.mac,
                }
            )
        ),
        "pool": forms.tables(
            forms.Form({"inside": forms.network_ipv4, "addresses": forms.list_of(forms.network_ipv4)})
        ),
        "route": forms.tables(
            forms.Form(
                {"prefix": forms.network_ipv4, "port": forms.switch_port, "peer_mac": forms.mac},
                {"mtu": forms.integer(68, 65535), "translate": forms.boolean},
            )
        ),
    },
    {
        "block_ports": forms.one_of(*(1 << bits for bits in range(1, 16))),
        "filtering": forms.one_of(*FILTERING),
        "log_mappings": forms.boolean,
        "icmp_errors": forms.integer(1, 1_000_000_000),
        "static": forms.tables(
            forms.Form({"protocol": forms.one_of(*PROTOCOLS), "inside": forms.endpoint, "external": forms.endpoint})
        ),
        "seconds": forms.Form(
            {},
            dict.fromkeys((*MAPPING_SECONDS, "fragment_seconds", "block_seconds"), forms.integer(1, 1_000_000)),
        ),
    },
)


# Of these many the register of the times of ports has the most elements that a register of 32 bits may have.
ADDRESSES_MAX = (1 << 28) // (3 * 65536)


def checked(settings):
    """The settings, whose parts must name each other and not contradict each other."""
    forms.distinct("interfaces at port", (one["port"] for one in settings["interface"]))
    forms.distinct("routes to", (one["prefix"] for one in settings["route"]))
    forms.distinct("pools for", (one["inside"] for one in settings["pool"]))
    for pool in settings["pool"]:
        if not pool["addresses"]:
            raise forms.Wrong(f"pool {pool['inside']}: `addresses` is empty")
    number = sum(ipaddress.IPv4Network(text).num_addresses for pool in settings["pool"] for text in pool["addresses"])
    if number > ADDRESSES_MAX:
        raise forms.Wrong(f"pool: {number:,} addresses: at most {ADDRESSES_MAX:,} are right")
    forms.distinct("places in pools for the address", (one for _, addresses in pools(settings) for one in addresses))
    ports = {one["port"] for one in settings["interface"]}
    for route in settings["route"]:
        if route["port"] not in ports:
            raise forms.Wrong(f"route {route['prefix']}: port {route['port']} is no interface")
    for side in ("inside", "external"):
        forms.distinct("static mappings of", (f"{one['protocol']} {one[side]}" for one in settings.get("static", [])))
    # Packets from outside are translated only if they go to an address of a pool.
    external = {address for _, addresses in pools(settings) for address in addresses}
    for one in settings.get("static", []):
        if endpoint(one["external"])[0] not in external:
            raise forms.Wrong(f"static: the external address of {one['external']} is in no pool: one of a pool is right")
    return settings


def defines(settings):
    """The macros of the program that a file sets."""
    addresses = sum(len(addresses) for _, addresses in pools(settings))
    bits = block_bits(settings)
    words = [f"ADDRESSES={max(addresses, 1)}", f"BLOCK_BITS={bits}"]
    blocks = addresses * ((65536 >> bits) - max(FIRST_PORTS >> bits, 1))
    if blocks > SUBSCRIBERS:
        words.append(f"SUBSCRIBERS={blocks}")
    times = settings.get("seconds", {})
    longest = max((seconds for name, seconds in times.items() if name in MAPPING_SECONDS), default=0)
    if "block_seconds" not in times and longest + BLOCK_EXCESS_SECONDS > BLOCK_SECONDS:
        times = {**times, "block_seconds": longest + BLOCK_EXCESS_SECONDS}
    return words + [f"{name.upper()}={seconds}" for name, seconds in times.items()]


def entry(table, match, action, **parameters):
    return fy.P4TableEntry(table, match=fy.Match(match), action=fy.Action(action, **parameters))


def endpoint(text):
    address, port = text.rsplit(":", 1)
    return str(ipaddress.IPv4Address(address)), int(port)


def dotted(value):
    return str(ipaddress.IPv4Address(value if isinstance(value, int) else str(value)))


def pools(settings):
    """Each pool with its external addresses."""
    for pool in settings["pool"]:
        yield pool["inside"], [str(one) for text in pool["addresses"] for one in ipaddress.IPv4Network(text)]


def right_addresses(settings):
    """Whether an inside address may have an external one: the pool with the longest prefix says so."""
    by_prefix = [(ipaddress.IPv4Network(inside), set(addresses)) for inside, addresses in pools(settings)]
    by_prefix.sort(key=lambda one: one[0].prefixlen, reverse=True)

    @functools.cache
    def is_right(inside, external):
        address = ipaddress.IPv4Address(inside)
        return next((external in addresses for prefix, addresses in by_prefix if address in prefix), False)

    return is_right


def block_bits(settings):
    return settings.get("block_ports", 512).bit_length() - 1


def interface_entries(settings):
    addresses = {address for _, addresses in pools(settings) for address in addresses}
    for one in settings["interface"]:
        mac, is_inside = control.mac(one["mac"]), one["realm"] == "inside"
        action = "set_inside" if is_inside else "set_outside"
        match = {"standard_metadata.ingress_port": one["port"]}
        yield entry("interfaces", match, action, mac=mac, addr=one["address"])
        # An address that is also in a pool is the pool's.
        if one["address"] not in addresses:
            yield entry("routes", {"destination": f"{one['address']}/32"}, "to_self")
        for address in sorted({one["address"]} | (set() if is_inside else addresses)):
            yield entry("arp_ipv4", {"port": one["port"], "address": address}, "arp_reply", mac=mac)


def pool_entries(settings, known):
    """`known`: the numbers that addresses have in the switch."""
    named = dict(pools(settings))
    try:
        numbers, firsts = numbered(named, known)
    except ValueError as error:
        raise forms.Wrong(
            f"pool {error}: between its addresses there are some of other pools, and they keep the order in which"
            " subscribers have them; in a switch that begins empty this is possible"
        ) from None
    for inside, first in firsts.items():
        yield entry("pools", {"inside": inside}, "use_addresses", first=first, count=len(named[inside]))
    for index, address in enumerate(numbers):
        yield entry("addresses", {"index": index}, "external_address", addr=address)
        yield entry("routes", {"destination": f"{address}/32"}, "to_pool")


def route_entries(settings):
    interfaces = {one["port"]: one for one in settings["interface"]}
    for route in settings["route"]:
        interface = interfaces[route["port"]]
        kind = OUTSIDE if route.get("translate", True) else OUTSIDE_UNTRANSLATED
        if interface["realm"] == "inside":
            kind = INSIDE
        yield entry(
            "routes",
            {} if route["prefix"].endswith("/0") else {"destination": route["prefix"]},
            "to_port",
            kind=kind,
            port=route["port"],
            src_mac=control.mac(interface["mac"]),
            dst_mac=control.mac(route["peer_mac"]),
            mtu=route.get("mtu", 1500),
        )


def static_entries(settings):
    for one in settings.get("static", []):
        protocol = PROTOCOLS[one["protocol"]]
        inside, external = endpoint(one["inside"]), endpoint(one["external"])
        if external[1] >= 1024:
            print(
                f"static mapping {one['external']}: the port may be in a subscriber's block; below 1024 is none",
                flush=True,
            )
        yield entry(
            "inbound",
            {"protocol": protocol, "external": external[0], "port": external[1]},
            "deliver_static",
            addr=inside[0],
            port=inside[1],
        )
        yield entry(
            "outbound",
            {"protocol": protocol, "inside": inside[0], "port": inside[1]},
            "translate_static",
            addr=external[0],
            port=external[1],
        )


def is_ours(one):
    """Whether an entry comes from a file, not from a packet."""
    return one.table_id not in ("inbound", "outbound") or control.short(one.action.name) in ("deliver_static", "translate_static")


class Nat:
    def __init__(self, switch, path, log, macros):
        self.switch = switch
        self.macros = macros
        self.path = path
        self.log = log
        self.entries = control.Entries(switch)
        # 0 is that of the program, before a file has been read.
        self.secret = 1 + secrets.randbelow((1 << 32) - 1)
        # Ports of a block.
        self.ports = 1 << block_bits(forms.read(path, FORM))
        # Subscriber -> external address, first port and ports.
        self.blocks = {}
        # External address and first port -> subscriber.
        self.holders = {}
        # Subscriber -> when a release was written before the switch has told it.
        self.released = {}

    async def read_again(self):
        self.log.open()
        await self.load()

    async def load(self):
        """Writes the entries of the file. Entries that packets have added stay."""
        settings = checked(forms.read(self.path, FORM))
        if defines(settings) != self.macros:
            raise forms.Wrong(
                f"{self.path}: `block_ports`, `seconds` and the number of addresses in pools are part of the program;"
                " start control.py again to change them"
            )
        known = {dotted(one.action.args["addr"]): one.match["index"] for one in self.entries.present("addresses")}
        static = list(static_entries(settings))
        wanted = [*pool_entries(settings, known), *interface_entries(settings), *route_entries(settings), *static]
        before = await self.default_action()
        self.secret = before.get("secret") or self.secret
        behaviour = fy.Action(
            "set_behaviour",
            filtering=FILTERING[settings.get("filtering", "any")],
            tells_mappings=int(settings.get("log_mappings", False)),
            secret=self.secret,
        )
        rate = settings.get("icmp_errors", 1000)
        meter = fy.P4MeterEntry(
            "error_rate", index=0, config=fy.P4MeterConfig(cir=rate, cburst=rate, pir=rate, pburst=rate)
        )
        also = [(control.MODIFY, meter)]
        # Only what differs: a default action among the updates has the switch copy all tables that they touch.
        if before != behaviour.args:
            also.append((control.MODIFY, fy.P4TableEntry("behaviour", action=behaviour, is_default_action=True)))
        ended = [(control.DELETE, one) for one in await self.in_the_way(static)]
        written = await self.entries.apply(wanted, first=ended, also=also)
        await self.end_mappings(settings)
        others = sum(before.get(name) != value for name, value in behaviour.args.items() if name != "secret")
        print(f"{written}; {others} settings changed", flush=True)

    async def in_the_way(self, static):
        """The learnt entries with the keys of new static mappings. A pair of entries ends with either of them."""
        new = [one for one in static if not self.entries.has(one)]
        return [found for one in new async for found in self.switch.read(fy.P4TableEntry(one.table_id, match=one.match))]

    async def end_mappings(self, settings):
        """Ends the blocks and mappings that subscribers would not get by this file: of another external address than their
        pool has, or of none. As long as they send, they would keep them, without answers if nothing leads to the
        address any more."""
        is_right = right_addresses(settings)
        if all(is_right(inside, block[0]) for inside, block in self.blocks.items()):
            return
        blocks = await self.delete_learnt("subscribers", "owns", is_right)
        for one in blocks:
            inside = dotted(one.match["inside"])
            if inside in self.blocks:
                self.release(inside)
        mappings = await self.delete_learnt("outbound", "translate", is_right)
        print(f"{len(blocks)} blocks and {len(mappings)} mappings that no pool has any more are ended", flush=True)

    async def delete_learnt(self, table, action, is_right):
        """Deletes the entries of a table whose external address is not right. Some may end by themselves meanwhile."""
        entries = [
            one
            async for one in self.switch.read(fy.P4TableEntry(table))
            if one.action
            and control.short(one.action.name) == action
            and not is_right(dotted(one.match["inside"]), dotted(one.action.args["addr"]))
        ]
        for at in range(0, len(entries), DELETED_AT_ONCE):
            await self.switch.delete(entries[at : at + DELETED_AT_ONCE], strict=False)
        return entries

    async def default_action(self):
        """The default action `set_behaviour` in the switch, as an earlier run or the previous file has set it."""
        async for one in self.switch.read(fy.P4TableEntry("behaviour", is_default_action=True)):
            if one.action and one.action.args:
                return one.action.args
        return {}

    async def take_over(self):
        """Makes what an earlier run has written the entries of this one, and remembers blocks that subscribers have."""
        await self.entries.take_over(learnt=LEARNT, is_ours=is_ours)
        async for one in self.switch.read(fy.P4TableEntry("subscribers")):
            self.holds(dotted(one.match["inside"]), self.block_of(one))

    def block_of(self, one):
        """The block of an entry of `subscribers`."""
        args = one.action.args
        return dotted(args["addr"]), args["base"], self.ports

    def holds(self, inside, block):
        self.blocks[inside] = block
        self.holders[block[:2]] = inside

    async def listen(self, digest):
        await control.listen_to_digests(self.switch, digest)
        async for batch in self.switch.read_digests(digest):
            for one in batch:
                await self.digest(digest, one)
            await self.switch.write([batch.ack()])

    async def digest(self, name, one):
        if name == "block_t":
            block = dotted(one["external_addr"]), one["first_port"], one["ports"]
            await self.block(dotted(one["inside_addr"]), block)
        elif name == "mapping_t":
            self.log.note(
                "mapping",
                protocol=NAMES.get(one["protocol"], one["protocol"]),
                inside=f"{dotted(one['inside_addr'])}:{one['inside_port']}",
                external=f"{dotted(one['external_addr'])}:{one['external_port']}",
            )
        else:
            self.log.note("refusal", inside=dotted(one["inside_addr"]), reason=REFUSALS.get(one["reason"], one["reason"]))

    async def block(self, inside, block):
        """A subscriber has got a block. The switch may tell later that another one has given it back, or that this one
        has given its former block back: then the release is written first. Of two packets on two workers that want a
        block at once, both tell one, and one of them gets none."""
        for holder in {inside, self.holders.get(block[:2], inside)}:
            if holder == inside and self.blocks.get(inside, block) == block:
                continue
            present = await self.present(holder)
            if holder in self.blocks:
                if present == self.blocks[holder]:
                    return
                self.released[holder] = asyncio.get_running_loop().time()
                self.release(holder)
        self.holds(inside, block)
        self.note_block("block", inside, block)

    async def present(self, inside):
        """The block that a subscriber has in the switch."""
        async for one in self.switch.read(fy.P4TableEntry("subscribers", match=fy.Match(inside=inside))):
            return self.block_of(one)
        return None

    def release(self, inside):
        block = self.blocks.pop(inside, (None, None, None))
        if self.holders.get(block[:2]) == inside:
            del self.holders[block[:2]]
        self.note_block("release", inside, block)

    def note_block(self, event, inside, block):
        external, first_port, ports = block
        self.log.note(event, inside=inside, external=external, first_port=first_port, ports=ports)

    async def releases(self):
        """The switch reports subscribers whose block has expired."""
        async for notification in self.switch.read_idle_timeouts():
            now = asyncio.get_running_loop().time()
            for one in notification.table_entry:
                inside = dotted(one.match["inside"])
                if now - self.released.pop(inside, -RELEASE_SECONDS) >= RELEASE_SECONDS:
                    self.release(inside)

    async def sessions(self):
        """Writes all mappings to the log."""
        async for one in self.switch.read(fy.P4TableEntry("outbound")):
            args = one.action.args
            self.log.note(
                "session",
                protocol=NAMES.get(one.match["protocol"], one.match["protocol"]),
                inside=f"{dotted(one.match['inside'])}:{one.match['port']}",
                external=f"{dotted(args['addr'])}:{args['port']}",
                static="index" not in args,
            )


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, help="interfaces, pools, routes")
    parser.add_argument("--log", type=pathlib.Path, metavar="FILE", help="where lines are appended (standard output)")
    arguments = parser.parse_args()
    macros = defines(checked(forms.read(arguments.file, FORM)))
    again, show = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, again.set)
    loop.add_signal_handler(signal.SIGUSR1, show.set)
    log = control.Log(arguments.log)
    async with control.controlled(HERE / "nat44.p4", arguments.grpc, *macros) as switch:
        nat = Nat(switch, arguments.file, log, macros)

        listeners = [asyncio.create_task(nat.listen(digest)) for digest in DIGESTS]
        await nat.take_over()
        await nat.load()
        await asyncio.gather(
            control.whenever(again, nat.read_again), control.whenever(show, nat.sessions), nat.releases(), *listeners
        )


if __name__ == "__main__":
    control.run(main)
