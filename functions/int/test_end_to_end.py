#!/usr/bin/env python3
"""INT between three nodes, with the kernel's hosts and tshark as judge. Needs root, tshark, iperf3, scapy.

h1 -- s1 (source) -- s2 (transit) -- s3 (sink) -- h2          s1, s2 and s3 also have a link to the collector
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
from bed import check, has_finsy, iperf3, main, start_again, wait_until

PROGRAM = HERE / "int.p4"
LUA = ["-X", f"lua_script:{HERE / 'int.lua'}"]
ALL = 0xFC00
MAX_HOPS = 8
TRUNK_MTU = 2000


def entries(node, host_port, trunk_ports):
    """Node `node`: a host at `host_port` (or none), other nodes at `trunk_ports`, the collector at port 9."""
    ends = [port for port in (host_port, *trunk_ports) if port]
    lines = [
        f"setdefault node set_node(node_id:{node}, time_base:0, collector:1, congestion_depth:1000)",
        f"add wire standard_metadata.ingress_port:{ends[0]} to_port(port:{ends[1]})",
        f"add wire standard_metadata.ingress_port:{ends[1]} to_port(port:{ends[0]})",
        "mirroring_add 1 9",
        f"add collectors meta.report.collector:1 set_collector(src_mac:0x02000000000{node}, dst_mac:0x0200000000C0, "
        f"src_addr:0xC0A8000{node}, dst_addr:0xC0A800C0, udp_port:32768, snap:512)",
        *(["add acl 10 meta.protocol:17 meta.dst_port:6666 deny()"] if node == 3 else []),
    ]
    for port in trunk_ports:
        lines += [
            f"add int_ports standard_metadata.ingress_port:{port} NoAction()",
            f"add mtus standard_metadata.egress_port:{port} set_mtu(mtu:{TRUNK_MTU})",
        ]
    if host_port:
        data = f"embed_data(instructions:{ALL:#x}, max_hops:{MAX_HOPS}, collector:1)"
        every = f"standard_metadata.ingress_port:{host_port}"
        lines += [
            f"add sink_ports standard_metadata.egress_port:{host_port} int_sink(collector:1)",
            f"add watch_ipv4 10 meta.protocol:6 {every} {data}",
            f"add watch_ipv4 10 meta.protocol:17 {every} {data}",
            f"add watch_ipv4 10 meta.protocol:1 {every} embed_instructions(instructions:{ALL:#x}, collector:1)",
            f"add watch_ipv6 10 meta.protocol:6 {every} {data}",
            f"add watch_ipv6 10 meta.protocol:17 {every} export_data(instructions:{ALL:#x}, collector:1)",
        ]
    return "\n".join(lines) + "\n"


# Node 1 as control.py reads it: what `entries` writes for it.
NODE_1 = """
id = 1
report_collector = 1
congestion_depth = 1000
int_ports = [2]
wire = [{ from = 1, to = 2 }, { from = 2, to = 1 }]
mtu = [{ port = 2, bytes = 2000 }]
sink = [{ port = 1, collector = 1 }]

[[collector]]
number = 1
port = 9
source_mac = "02:00:00:00:00:01"
mac = "02:00:00:00:00:c0"
source = "192.168.0.1"
address = "192.168.0.192"
snap = 512
"""
WATCH = """
[[watch]]
mode = "{mode}"
instructions = ["ports", "hop_latency", "queue", "ingress_time", "egress_time", "node_id"]
collector = 1
port = 1
ipv6 = {ipv6}
protocol = {protocol}
"""
WATCHED = (("md", "false", 6), ("md", "false", 17), ("mx", "false", 1), ("md", "true", 6), ("xd", "true", 17))


def control_node_1(bed, node):
    """Node 1 gets its entries from the control program."""
    file = bed.folder / "node1.toml"
    file.write_text(
        NODE_1 + "".join(WATCH.format(mode=mode, ipv6=ipv6, protocol=number) for mode, ipv6, number in WATCHED)
    )
    controller = node.start(sys.executable, HERE / "control.py", file)
    wait_until(
        lambda: "entries" in controller.output.read_text() or controller.poll() is not None,
        "control.py writes entries",
        60,
    )
    check(controller.poll() is None, "control.py has made node 1 an INT source and sink")
    return controller


def make(bed):
    nodes = [bed.namespace(f"s{number}") for number in (1, 2, 3)]
    h1 = bed.host("h1", "eth0", nodes[0], "host", "10.0.0.1/24", "fd00::1/64", mac="02:00:00:00:01:01")
    h2 = bed.host("h2", "eth0", nodes[2], "host", "10.0.0.2/24", "fd00::2/64", mac="02:00:00:00:01:02")
    bed.link(nodes[0], "right", nodes[1], "left", TRUNK_MTU)
    bed.link(nodes[1], "right", nodes[2], "left", TRUNK_MTU)
    collector = bed.namespace("collector")
    collector.run("ip", "link", "add", "bridge", "type", "bridge")
    collector.run("ip", "link", "set", "bridge", "address", "02:00:00:00:00:c0", "up")
    collector.run("ip", "address", "add", "192.168.0.192/24", "dev", "bridge")
    for number, node in enumerate(nodes, 1):
        bed.link(collector, f"node{number}", node, "reports")
        collector.run("ip", "link", "set", f"node{number}", "master", "bridge")
    ports = [
        {1: "host", 2: "right", 9: "reports"},
        {1: "left", 2: "right", 9: "reports"},
        {1: "host", 2: "left", 9: "reports"},
    ]
    controller = None
    roles = [(1, (2,)), (None, (1, 2)), (1, (2,))]
    for number, (node, port, role) in enumerate(zip(nodes, ports, roles, strict=True), 1):
        file = bed.folder / f"s{number}.stf"
        file.write_text(entries(number, *role))
        if number == 1 and has_finsy():
            bed.switch(node, None, port, None, "--grpc")
            controller = control_node_1(bed, node)
        else:
            bed.switch(node, PROGRAM, port, file)
    return h1, h2, nodes, collector, controller


def test(bed):
    h1, h2, nodes, collector, controller = make(bed)
    trunk = nodes[2].capture("left")
    reports = collector.capture("bridge")
    arrived = h2.capture("eth0")
    collect = collector.start(sys.executable, HERE / "collect.py", "--bind", "192.168.0.192", "--count", "100000")

    h1.run("ping", "-c", "3", "-i", "0.2", "-s", "1400", "10.0.0.2")
    check(True, "ping through INT-MX")
    h1.run("ping", "-c", "3", "-i", "0.2", "fd00::2")
    check(True, "ping over IPv6, not watched")
    if controller:
        start_again(nodes[0], controller, h1, "fd00::2")
    h2.start("iperf3", "-s", "-p", "5001")
    wait_until(lambda: h2.succeeds("sh", "-c", "ss -ltn | grep -q :5001"), "iperf3 listens")
    iperf3(h1, "10.0.0.2", "-p", "5001", "-n", "4M")
    check(True, "4 MB of TCP through INT-MD")
    iperf3(h1, "fd00::2", "-p", "5001", "-n", "2M")
    check(True, "2 MB of TCP over IPv6 through INT-MD")
    iperf3(h1, "10.0.0.2", "-u", "-p", "5001", "-n", "200K", "-b", "5M", "-l", "1000")
    check(True, "UDP through INT-MD")
    iperf3(h1, "fd00::2", "-u", "-p", "5001", "-n", "50K", "-b", "2M", "-l", "1000")
    check(True, "UDP over IPv6 beside INT-XD")
    h1.run("bash", "-c", "echo denied > /dev/udp/10.0.0.2/6666")

    for capture in (trunk, reports, arrived):
        capture.stop()
    trunk.check_well_formed("between the nodes", LUA, "fint.malformed")
    arrived.check_well_formed("at the receiver", LUA, "fint.malformed", only="eth.dst == 02:00:00:00:01:02")
    check(not h2.checksum_errors(), "the receiver's kernel counts no wrong checksum")
    # The TCP checksum of a packet cannot be verified from its beginning.
    reports.check_well_formed(
        "reports", [*LUA, "-o", "tcp.check_checksum:FALSE", "-o", "udp.check_checksum:FALSE"], "freport.malformed"
    )
    check(arrived.count("fint", LUA) == 0, "the receiver sees no INT")
    both_hops = trunk.count("fint.type == 1 and fint.hops == 2 and tcp", LUA)
    check(both_hops > 100, f"TCP between the nodes has the metadata of two hops ({both_hops} packets)")
    check(trunk.count("fint.type == 1 and fint.hops == 2 and ipv6", LUA) > 50, "so has TCP over IPv6")
    check(trunk.count("fint.type == 3 and icmp", LUA) == 3, "pings have instructions")
    sink = "freport and freport.node_id == 3 and fint.type == 1"
    check(reports.count(f"{sink} and fint.hops == 2 and tcp", LUA) > 100, "the sink reports the stack of TCP packets")
    nodes_seen = {row[0] for row in reports.fields("freport and fint.type == 3", "freport.node_id", options=LUA)}
    check(nodes_seen == {"1", "2", "3"}, "every node reports the packets with instructions")
    exported = {
        row[0]
        for row in reports.fields("freport and ipv6 and udp.port == 5001 and not fint", "freport.node_id", options=LUA)
    }
    check(exported == {"1", "3"}, "both ends export UDP over IPv6")
    dropped = reports.fields("freport.dropped == 1", "freport.node_id", "freport.drop_reason", options=LUA)
    check(dropped == [["3", "3"]], "the denied packet is reported with its reason")
    check_sequences(reports)
    check_times(reports)
    lines = collect.output.read_text()
    of_tcp = re.search(r"^node 3 .* TCP \d+ > 5001: .* \| hop 1: node_id=1 ", lines, re.MULTILINE)
    check(of_tcp, "collect.py, with the layers of scapy, prints them")


def check_sequences(reports):
    """The reports of each node are numbered without a gap."""
    seen = {}
    for node, number in reports.fields("freport", "freport.node_id", "freport.sequence", options=LUA):
        seen.setdefault(node, []).append(int(number))
    gaps = {node: numbers for node, numbers in seen.items() if sorted(numbers) != list(range(len(numbers)))}
    check(
        not gaps,
        f"no report is missing ({', '.join(f'node {node}: {len(numbers)}' for node, numbers in seen.items())})",
    )


def check_times(reports):
    rows = reports.fields(
        "freport.node_id == 3 and fint.hops == 2", "fint.hop.ingress_time", "fint.hop.egress_time", options=LUA
    )
    pairs = [zip(map(int, one.split(",")), map(int, other.split(",")), strict=True) for one, other in rows]
    check(rows and all(came <= left for row in pairs for came, left in row), "no packet leaves a hop before it came")


if __name__ == "__main__":
    sys.exit(main(test, "tshark", "dumpcap", "iperf3", "ping", "bash"))
