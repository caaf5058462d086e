#!/usr/bin/env python3
"""Configures firewall.p4 from a file, logs what rules refuse, and prints how often each rule has decided.

    control.py FILE [--log FILE] [--grpc ADDRESS]

SIGHUP reads the file again, and opens the log again, as log rotation needs it: connections that are known go on.
SIGUSR1 writes the counters of policies and rules, and all connections, to the log. A line of the log is a JSON object
with `time` and `event`: refused, policy, rule, connection. firewall.toml beside this program is an example. Needs finsy
from PyPI, and forebay in the PATH (or $FOREBAY).
"""

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
from numbering import numbered

PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "icmpv6": 58}
WITH_PORTS = (6, 17)
REASONS = {12: "denied", 13: "rejected"}
SELF = "to_self"
# Zones are numbered from 1 in bit<8>; SELF_ZONE of route.p4 is 255.
ZONES_MAX = 254
TOP = 10_000
# Numbers of the meters and limiters of rules are bit<16>, 0 for none.
NUMBERS_MAX = 65535
RULES = ("rules_ipv4", "rules_ipv6")
# Tables whose entries come from packets.
LEARNT = ("connections_ipv4", "connections_ipv6", "fragments")


ACTIONS = ("allow", "deny", "reject")
PREFIXES = forms.either(forms.list_of(forms.network), forms.network)
PORTS = forms.either(forms.integer(0, 65535), forms.port_range)
NAMES = forms.either(forms.list_of(forms.text), forms.text)
# The keys of the file, required and optional ones, with their kinds.
INTERFACE = forms.Form(
    {"port": forms.switch_port, "mac": forms.mac, "addresses": forms.list_of(forms.address)}, {"pings": forms.boolean}
)
RULE = forms.Form(
    {"do": forms.one_of(*ACTIONS)},
    {
        **dict.fromkeys(("name", "from", "to"), forms.text),
        **dict.fromkeys(("source", "destination"), PREFIXES),
        **dict.fromkeys(("port", "source_port"), PORTS),
        **dict.fromkeys(("connections", "burst"), forms.integer(1, 1_000_000)),
        "protocol": forms.either(forms.integer(0, 255), forms.one_of(*PROTOCOLS)),
        "rate": forms.integer(8, 1 << 50),
        "log": forms.boolean,
    },
)
FORM = forms.Form(
    {
        "zone": forms.tables(forms.Form({"name": forms.text, "interface": forms.tables(INTERFACE)})),
        "route": forms.tables(
            forms.Form(
                {"prefixes": forms.list_of(forms.network), "port": forms.switch_port, "peer_mac": forms.mac},
                {"mtu": forms.integer(68, 65535)},
            )
        ),
    },
    {
        "icmp_errors": forms.integer(1, 1_000_000_000),
        "policy": forms.tables(
            forms.Form(
                {"from": forms.text, "to": NAMES, "do": forms.one_of(*ACTIONS, "rules")},
                {"log": forms.boolean},
            )
        ),
        "rule": forms.tables(RULE),
    },
)


def network(text):
    return ipaddress.ip_network(text)


def as_list(value):
    return value if isinstance(value, list) else [value]


def check_terms(what, one):
    """Refuses keys that have no effect with what a policy or a rule does."""
    for key, does in (
        *((key, ("allow",)) for key in ("rate", "connections", "burst")),
        ("log", ("deny", "reject")),
    ):
        if key in one and one["do"] not in does:
            raise forms.Wrong(f"{what}: `{key}` has an effect with {' and '.join(f'`{do}`' for do in does)} alone")
    if "burst" in one and "connections" not in one:
        raise forms.Wrong(f"{what}: `burst` needs the key `connections`")


def protocols(rule, index):
    """The protocols of a rule as parts of a match; those that have ports if it names ports and no protocol."""
    has_ports = "port" in rule or "source_port" in rule
    if "protocol" not in rule:
        return [{"protocol": one} for one in WITH_PORTS] if has_ports else [{}]
    protocol = PROTOCOLS.get(rule["protocol"], rule["protocol"])
    # The data plane has the identifier of ICMP queries where the ports are.
    if has_ports and protocol not in WITH_PORTS:
        raise forms.Wrong(f"rule: number {index}: `port` and `source_port` have an effect with `tcp` and `udp` alone")
    return [{"protocol": protocol}]


def address(value, version):
    number = value if isinstance(value, int) else int(ipaddress.ip_address(str(value)))
    return str(ipaddress.IPv6Address(number) if version == 6 else ipaddress.IPv4Address(number))


class Settings:
    """The settings of a file, as entries."""

    def __init__(self, path):
        self.said = forms.read(path, FORM)
        if len(self.said["zone"]) > ZONES_MAX:
            raise forms.Wrong(f"{path}: {len(self.said['zone'])} zones: at most {ZONES_MAX} are right")
        zones, rules = self.said["zone"], self.said.get("rule", [])
        forms.distinct("zones", (zone["name"] for zone in zones))
        forms.distinct("interfaces at port", (one["port"] for zone in zones for one in zone["interface"]))
        forms.distinct("routes to", (prefix for route in self.said["route"] for prefix in route["prefixes"]))
        if len(rules) >= TOP:
            raise forms.Wrong(f"{path}: {len(rules):,} rules: at most {TOP - 1:,} are right")
        # Rate in bytes a second by number of a meter.
        self.rates = {}
        # Names of rules by priority.
        self.rules = {}
        self.number_zones({}, ())
        self.number_rules({}, ())

    def number_zones(self, kept, used):
        """Numbers the zones. Connections have the numbers of theirs, so a zone keeps the one that it has in `kept`."""
        self.zones = numbered([zone["name"] for zone in self.said["zone"]], kept, used, ZONES_MAX)
        self.names = {number: name for name, number in self.zones.items()}
        self.interfaces = {
            interface["port"]: (self.zones[zone["name"]], interface)
            for zone in self.said["zone"]
            for interface in zone["interface"]
        }

    def number_rules(self, kept, used):
        """Numbers the rules that have a meter or a limiter, by their places in the file. Connections have the number of
        the meter."""
        places = [place for place, rule in enumerate(self.said.get("rule", []), 1) if "rate" in rule or "connections" in rule]
        self.numbers = numbered(places, kept, used, NUMBERS_MAX)

    def zone(self, name):
        if name not in self.zones:
            raise forms.Wrong(f"there is no zone `{name}`: {', '.join(self.zones)}")
        return self.zones[name]

    def entries(self):
        yield from self.interface_entries()
        yield from self.route_entries()
        policies = self.said.get("policy", [])
        forms.distinct("policies", (f"from {one['from']} to {to}" for one in policies for to in as_list(one["to"])))
        for place, policy in enumerate(policies, 1):
            check_terms(f"policy: number {place}", policy)
            for to in as_list(policy["to"]):
                match = {"from": self.zone(policy["from"]), "to": self.zone(to)}
                yield fy.P4TableEntry("policies", match=fy.Match(match), action=self.action(policy, 0))
        for index, rule in enumerate(self.said.get("rule", []), 1):
            yield from self.rule_entries(rule, index)

    def interface_entries(self):
        for port, (zone, one) in self.interfaces.items():
            mac = control.mac(one["mac"])
            first = next((text for text in one["addresses"] if network(text).version == 4), "0.0.0.0")
            action = fy.Action("set_interface", zone=zone, mac=mac, addr=first, pings=int(one.get("pings", False)))
            match = fy.Match({"standard_metadata.ingress_port": port})
            yield fy.P4TableEntry("interfaces", match=match, action=action)
            for text in one["addresses"]:
                version = network(text).version
                table, do = ("arp_ipv4", "arp_reply") if version == 4 else ("nd_ipv6", "nd_advertise")
                match = fy.Match({"port": port, "address": text})
                yield fy.P4TableEntry(table, match=match, action=fy.Action(do, mac=mac))
                match = fy.Match({"destination": str(network(text))})
                yield fy.P4TableEntry(f"routes_ipv{version}", match=match, action=fy.Action("to_self"))

    def route_entries(self):
        for route in self.said["route"]:
            if route["port"] not in self.interfaces:
                raise forms.Wrong(f"route {route['prefixes']}: port {route['port']} is no interface")
            zone, interface = self.interfaces[route["port"]]
            action = fy.Action(
                "to_port",
                zone=zone,
                port=route["port"],
                src_mac=control.mac(interface["mac"]),
                dst_mac=control.mac(route["peer_mac"]),
                mtu=route.get("mtu", 1500),
            )
            for prefix in route["prefixes"]:
                match = {} if network(prefix).prefixlen == 0 else {"destination": prefix}
                yield fy.P4TableEntry(f"routes_ipv{network(prefix).version}", match=fy.Match(match), action=action)

    def action(self, one, index):
        """The action of a policy (index 0) or a rule."""
        do, told = one["do"], int(one.get("log", False))
        if do in ("deny", "reject"):
            return fy.Action(do, told=told)
        if do == "rules":
            return fy.Action("use_rules")
        policer = self.numbers[index] if "rate" in one else 0
        if policer:
            self.rates[policer] = one["rate"] // 8
        if "connections" not in one:
            return fy.Action("allow", policer=policer)
        # Microseconds, rounded up: no more connections than the rule says.
        interval = math.ceil(1_000_000 / one["connections"])
        burst = interval * (one.get("burst", 1) - 1)
        if burst >= 1 << 32:
            most = ((1 << 32) - 1) // interval + 1
            raise forms.Wrong(f"rule: number {index}: `burst = {one['burst']}`: with these `connections` at most {most}")
        return fy.Action("allow_limited", policer=policer, limiter=self.numbers[index], interval=interval, burst=burst)

    def rule_entries(self, rule, index):
        check_terms(f"rule: number {index}", rule)
        self.rules[TOP - index] = rule.get("name", f"{index}")
        action = self.action(rule, index)
        for table, match in self.rule_matches(rule, index):
            yield fy.P4TableEntry(table, match=fy.Match(match), priority=TOP - index, action=action)

    def rule_matches(self, rule, index):
        """The tables and matches of a rule's entries."""
        match = {name: self.zone(rule[name]) for name in ("from", "to") if name in rule}
        for name in ("port", "source_port"):
            if name in rule:
                first, _, last = str(rule[name]).partition("-")
                match[name] = f"{first}...{last or first}"
        if not any(self.sides(rule, "source", one) and self.sides(rule, "destination", one) for one in (4, 6)):
            raise forms.Wrong(f"rule: number {index}: `source` and `destination` have no version of IP in common")
        for version in (4, 6):
            sides = (self.sides(rule, "source", version), self.sides(rule, "destination", version), protocols(rule, index))
            for source, destination, protocol in itertools.product(*sides):
                yield f"rules_ipv{version}", {**match, **source, **destination, **protocol}

    @staticmethod
    def sides(rule, name, version):
        """The prefixes of this version that a rule names; all addresses if it names none of any."""
        if name not in rule:
            return [{}]
        prefixes = [network(text) for text in as_list(rule[name])]
        return [{name: str(one)} if one.prefixlen else {} for one in prefixes if one.version == version]


class Firewall:
    def __init__(self, switch, path, log):
        self.switch = switch
        self.path = path
        self.log = log
        self.settings = None
        self.entries = control.Entries(switch)
        # Numbers of zones and rules that connections may have.
        self.used_zones, self.used_numbers = set(), set()

    async def read_again(self):
        self.log.open()
        await self.load()

    async def load(self):
        settings = Settings(self.path)
        settings.number_zones(self.known_zones(settings), self.used_zones)
        settings.number_rules(self.known_rules(settings), self.used_numbers)
        entries = list(settings.entries())
        meters = [(control.MODIFY, one) for one in self.meters(settings)]
        # At once, so that no packet passes by old and new rules together.
        written = await self.entries.apply(entries, also=meters, at_once=True)
        self.settings = settings
        self.used_zones.update(settings.zones.values())
        self.used_numbers.update(settings.numbers.values())
        print(written, flush=True)

    def known_zones(self, settings):
        """The numbers in the switch of the zones of a file: by their names, or by their ports when another run has
        written them."""
        ports = {
            one.match["ingress_port"]: one.action.args["zone"]
            for one in self.entries.present("interfaces")
        }
        self.used_zones.update(ports.values())
        before = self.settings.zones if self.settings else {}
        known = {zone["name"]: before[zone["name"]] for zone in settings.said["zone"] if zone["name"] in before}
        for zone in settings.said["zone"]:
            found = [ports[one["port"]] for one in zone["interface"] if one["port"] in ports]
            if zone["name"] not in known and found and found[0] not in known.values():
                known[zone["name"]] = found[0]
        return known

    def known_rules(self, settings):
        """The numbers in the switch of the rules of a file, by place: those of rules with the same match."""
        numbers = {}
        for table in RULES:
            for one in self.entries.present(table):
                number = one.action.args.get("policer") or one.action.args.get("limiter")
                if number:
                    numbers[self.identity(table, one.match)] = number
        self.used_numbers.update(numbers.values())
        known = {}
        for place in settings.numbers:
            for table, match in settings.rule_matches(settings.said["rule"][place - 1], place):
                number = numbers.get(self.identity(table, fy.Match(match)))
                if number:
                    known.setdefault(place, number)
        return known

    def identity(self, table, match):
        """Table and match of a rule as bytes, whatever its priority and its action."""
        entry = fy.P4TableEntry(table, match=match, priority=1, action=fy.Action("deny", told=0))
        return control.split(entry.encode(self.switch.p4info))[0]

    @staticmethod
    def meters(settings):
        errors = settings.said.get("icmp_errors", 1000)
        for name, index, rate, burst in [
            ("error_rate", 0, errors, errors),
            *(("policers", index, rate, max(rate // 10, 15_000)) for index, rate in settings.rates.items()),
        ]:
            config = fy.P4MeterConfig(cir=rate, cburst=burst, pir=rate, pburst=burst)
            yield fy.P4MeterEntry(name, index=index, config=config)

    async def listen(self):
        await control.listen_to_digests(self.switch, "refused_t")
        async for batch in self.switch.read_digests("refused_t"):
            for one in batch:
                version = 6 if one["is_ipv6"] else 4
                self.log.note(
                    "refused",
                    **{
                        "from": self.settings.names.get(one["from_zone"]),
                        "to": self.settings.names.get(one["to_zone"]),
                    },
                    source=address(one["source"], version),
                    destination=address(one["destination"], version),
                    protocol=one["protocol"],
                    source_port=one["source_port"],
                    port=one["port"],
                    reason=REASONS.get(one["reason"], one["reason"]),
                )
            await self.switch.write([batch.ack()])

    async def show(self):
        """Writes counters and connections to the log."""
        async for one in self.switch.read(fy.P4DirectCounterEntry("policy_hits")):
            match = one.table_entry.match if one.table_entry else None
            if match:
                names = self.settings.names
                self.log.note(
                    "policy",
                    **{"from": names.get(match["from"]), "to": names.get(match["to"])},
                    packets=one.packet_count,
                )
        hits = dict.fromkeys(self.settings.rules.values(), 0)
        for version in (4, 6):
            async for one in self.switch.read(fy.P4DirectCounterEntry(f"hits_ipv{version}")):
                if one.table_entry and one.table_entry.priority in self.settings.rules:
                    hits[self.settings.rules[one.table_entry.priority]] += one.packet_count
        for name, packets in hits.items():
            self.log.note("rule", name=name, packets=packets)
        for version in (4, 6):
            async for one in self.switch.read(fy.P4TableEntry(f"connections_ipv{version}")):
                if one.action is None or "reply" not in one.action.args or one.action.args["reply"]:
                    continue
                match = one.match
                self.log.note(
                    "connection",
                    zone=self.settings.names.get(match["zone"]),
                    source=address(match["source"], version),
                    destination=address(match["destination"], version),
                    protocol=match["protocol"],
                    source_port=match["source_port"],
                    port=match["port"],
                )


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, help="zones, routes, policies, rules")
    parser.add_argument("--log", type=pathlib.Path, metavar="FILE", help="where lines are appended (standard output)")
    arguments = parser.parse_args()
    # A wrong file is reported before anything else.
    list(Settings(arguments.file).entries())
    again, show = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, again.set)
    loop.add_signal_handler(signal.SIGUSR1, show.set)
    log = control.Log(arguments.log)
    async with control.controlled(HERE / "firewall.p4", arguments.grpc) as switch:
        firewall = Firewall(switch, arguments.file, log)

        await firewall.entries.take_over(learnt=LEARNT)
        await firewall.load()
        listener = asyncio.create_task(firewall.listen())
        await asyncio.gather(
            control.whenever(again, firewall.read_again), control.whenever(show, firewall.show), listener
        )


if __name__ == "__main__":
    control.run(main)
