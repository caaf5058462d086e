#!/usr/bin/env python3
"""Makes a switch an INT node as a file says; SIGHUP reads it again.

    control.py FILE [--grpc ADDRESS]

node.toml beside this program is an example, and says what the keys mean. Needs finsy from PyPI, and forebay in the PATH
(or $FOREBAY).
"""

import asyncio
import ipaddress
import pathlib
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import control
import finsy as fy
import forms

# Instruction bits by name: those that this program measures.
INSTRUCTIONS = {
    "node_id": 0x8000,
    "ports": 0x4000,
    "hop_latency": 0x2000,
    "queue": 0x1000,
    "ingress_time": 0x0800,
    "egress_time": 0x0400,
}


MODES = ("md", "mx", "xd", "drops")
PORTS = forms.list_of(forms.switch_port)
# A collector's number is also that of its clone session; int.p4 has bit<8> for it, and 0 for none.
COLLECTOR_NUMBER = forms.integer(1, 255)
# Where collectors listen unless the file says otherwise.
UDP_PORT = 32768
# A report has no more of its packet (packet.p4).
SNAP_BYTES_MAX = 960
# The keys of the file, required and optional ones, with their kinds.
COLLECTOR = forms.Form(
    {
        "number": COLLECTOR_NUMBER,
        "port": forms.switch_port,
        **dict.fromkeys(("source_mac", "mac"), forms.mac),
        **dict.fromkeys(("source", "address"), forms.address_ipv4),
    },
    {"udp_port": forms.tcp_port, "snap": forms.integer(0, SNAP_BYTES_MAX)},
)
WATCH = forms.Form(
    {
        "mode": forms.one_of(*MODES),
        "collector": COLLECTOR_NUMBER,
        "instructions": forms.list_of(forms.one_of(*INSTRUCTIONS)),
    },
    {
        "max_hops": forms.integer(1, 255),
        "priority": forms.integer(1, 1 << 30),
        "ipv6": forms.boolean,
        **dict.fromkeys(("source", "destination"), forms.network),
        **dict.fromkeys(("source_port", "destination_port"), forms.integer(0, 65535)),
        "protocol": forms.integer(0, 255),
        "dscp": forms.integer(0, 63),
        "port": forms.switch_port,
    },
)
FORM = forms.Form(
    {"id": forms.integer(0, 0xFFFFFFFF)},
    {
        "report_collector": forms.integer(0, 255),
        "congestion_depth": forms.integer(0, 0xFFFFFF),
        "time_of_day": forms.boolean,
        "int_ports": PORTS,
        "wire": forms.tables(forms.Form({"from": forms.switch_port, "to": forms.switch_port})),
        "mtu": forms.tables(forms.Form({"port": forms.switch_port, "bytes": forms.integer(68, 65535)})),
        "sink": forms.tables(forms.Form({"port": forms.switch_port, "collector": COLLECTOR_NUMBER})),
        "collector": forms.tables(COLLECTOR),
        "watch": forms.tables(WATCH),
    },
)


def checked(node):
    """The settings of a node, whose parts must name each other and not contradict each other."""
    for name, key in (("wire", "from"), ("mtu", "port"), ("sink", "port"), ("collector", "number")):
        forms.distinct(f"tables `{name}` with `{key}` =", (one[key] for one in node.get(name, [])))
    for place, watch in enumerate(node.get("watch", []), 1):
        check_watch(f"watch: number {place}", watch)
    named = [(f"watch: number {place}", one["collector"]) for place, one in enumerate(node.get("watch", []), 1)]
    named += [(f"sink: number {place}", one["collector"]) for place, one in enumerate(node.get("sink", []), 1)]
    if node.get("report_collector"):
        named.append(("`report_collector`", node["report_collector"]))
    collectors = {one["number"] for one in node.get("collector", [])}
    for what, number in named:
        if number not in collectors:
            raise forms.Wrong(f"{what}: there is no collector {number}")
    check_places(node.get("collector", []))
    return node


def check_places(collectors):
    """Refuses two numbers for one collector: reports have sequence numbers by collector, and where two sequences come to
    one place it takes the gaps of each for losses."""
    numbers = {}
    for one in collectors:
        place = f"{one['address']}:{one.get('udp_port', UDP_PORT)}"
        other = numbers.setdefault(place, one["number"])
        if other != one["number"]:
            raise forms.Wrong(
                f"collectors {other} and {one['number']} are both {place}, which would count reports as lost: use one number for it"
            )


def check_watch(what, watch):
    versions = {ipaddress.ip_network(watch[key]).version for key in ("source", "destination") if key in watch}
    if "ipv6" in watch:
        versions.add(6 if watch["ipv6"] else 4)
    if len(versions) > 1:
        raise forms.Wrong(f"{what}: `source`, `destination` and `ipv6` must be of one version of IP")
    if "max_hops" in watch and watch["mode"] != "md":
        raise forms.Wrong(f'{what}: `max_hops` is for `mode = "md"`')


def bitmap(names):
    return sum(INSTRUCTIONS[name] for name in set(names))


def prefix(text):
    """A prefix as value and mask; None for all addresses."""
    network = ipaddress.ip_network(text)
    return (network.network_address, network.netmask) if network.prefixlen else None


def watch_action(watch):
    common = {"instructions": bitmap(watch["instructions"]), "collector": watch["collector"]}
    match watch["mode"]:
        case "md":
            return fy.Action("embed_data", max_hops=watch.get("max_hops", 8), **common)
        case "mx":
            return fy.Action("embed_instructions", **common)
        case "xd":
            return fy.Action("export_data", **common)
        case "drops":
            return fy.Action("drops_only", **common)


def watch_entry(watch):
    is_ipv6 = any(":" in watch.get(key, "") for key in ("source", "destination")) or watch.get("ipv6", False)
    header = "hdr.ipv6" if is_ipv6 else "hdr.ipv4"
    fields = {
        "source": (f"{header}.src_addr", prefix),
        "destination": (f"{header}.dst_addr", prefix),
        "protocol": ("meta.protocol", int),
        "dscp": (f"{header}.dscp", int),
        "source_port": ("meta.src_port", int),
        "destination_port": ("meta.dst_port", int),
        "port": ("standard_metadata.ingress_port", int),
    }
    match = {name: convert(watch[key]) for key, (name, convert) in fields.items() if key in watch}
    match = fy.Match({name: value for name, value in match.items() if value is not None})
    table = "watch_ipv6" if is_ipv6 else "watch_ipv4"
    return fy.P4TableEntry(table, match=match, action=watch_action(watch), priority=watch.get("priority", 10))


def collector_entries(one):
    action = fy.Action(
        "set_collector",
        src_mac=control.mac(one["source_mac"]),
        dst_mac=control.mac(one["mac"]),
        src_addr=one["source"],
        dst_addr=one["address"],
        udp_port=one.get("udp_port", UDP_PORT),
        snap=one.get("snap", 256),
    )
    return [
        fy.P4TableEntry("collectors", match=fy.Match({"meta.report.collector": one["number"]}), action=action),
        fy.P4CloneSessionEntry(session_id=one["number"], replicas=[one["port"]]),
    ]


def node_entries(node):
    """The entries of a node's file, but for its default action."""
    port = "standard_metadata.ingress_port"
    out = "standard_metadata.egress_port"
    for one in node.get("collector", []):
        yield from collector_entries(one)
    for one in node.get("wire", []):
        yield fy.P4TableEntry("wire", match=fy.Match({port: one["from"]}), action=fy.Action("to_port", port=one["to"]))
    for one in node.get("int_ports", []):
        yield fy.P4TableEntry("int_ports", match=fy.Match({port: one}), action=fy.Action("NoAction"))
    for one in node.get("sink", []):
        action = fy.Action("int_sink", collector=one["collector"])
        yield fy.P4TableEntry("sink_ports", match=fy.Match({out: one["port"]}), action=action)
    for one in node.get("mtu", []):
        yield fy.P4TableEntry("mtus", match=fy.Match({out: one["port"]}), action=fy.Action("set_mtu", mtu=one["bytes"]))
    for one in node.get("watch", []):
        yield watch_entry(one)


def default_entry(node, before):
    """The default action: the settings of the node. A time base that an earlier run has written stays, since times
    would jump otherwise.

    Times count from the start of the switch; with the base they are times of day, as exact as the first call comes soon
    after the start.
    """
    action = fy.Action(
        "set_node",
        node_id=node["id"],
        time_base=(before or time.time_ns()) if node.get("time_of_day", False) else 0,
        collector=node.get("report_collector", 0),
        congestion_depth=node.get("congestion_depth", 0xFFFFFF),
    )
    return fy.P4TableEntry("node", action=action, is_default_action=True)


async def present_time_base(switch):
    async for one in switch.read(fy.P4TableEntry("node", is_default_action=True)):
        return (one.action.args if one.action else {}).get("time_base", 0)
    return 0


async def load(switch, entries, path):
    node = checked(forms.read(path, FORM))
    wanted = list(node_entries(node))
    default = default_entry(node, await present_time_base(switch))
    written = await entries.apply(wanted, also=[(control.MODIFY, default)])
    print(f"node {node['id']}: {len(wanted)} entries: {written}", flush=True)


async def main():
    parser = control.options(__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, help="what the node does")
    arguments = parser.parse_args()
    # A wrong file is reported before anything else.
    checked(forms.read(arguments.file, FORM))
    again = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, again.set)
    async with control.controlled(HERE / "int.p4", arguments.grpc) as switch:
        entries = control.Entries(switch)
        await entries.take_over()
        await load(switch, entries, arguments.file)
        await control.whenever(again, lambda: load(switch, entries, arguments.file))


if __name__ == "__main__":
    control.run(main)
