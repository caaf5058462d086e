#!/usr/bin/env python3
"""Writes the STF tests of int.p4. The packets are made by scapy with the layers of int_scapy.py, apart from the
program.

    make_tests.py [--check]

Needs scapy from PyPI.
"""

import ipaddress
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import with_scapy  # noqa: F401, I001
import int_scapy
from checksum import dynamic_port
from int_scapy import NPT_IP, NPT_UDP, TYPE_MD, TYPE_MX, IntMD, IntMX, IntShim, Report, TelemetryReport
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw
from stf import Test, write

INT_PORT = 32766
REPORT_PORT = 32768
NODE = 0x0A0B0C0D
TIME_BASE = 0
COLLECTOR = 5
COLLECTOR_PORT = 9
SNAP = 128
DROP_MALFORMED, DROP_NO_FORWARDING, DROP_DENIED, DROP_UNTRUSTED = 1, 2, 3, 4
# Node and ports: what a hop of a test adds is known.
NODE_AND_PORTS = 0xC000
PORTS_AND_QUEUE = 0x5000

ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
IPV4 = IP(src="10.0.0.1", dst="10.0.0.2", id=7)
IPV6 = IPv6(src="2001:db8::1", dst="2001:db8::2")
DATA = Raw(bytes(range(40)))

NODE_COMMANDS = [
    f"setdefault node set_node(node_id:{NODE:#x}, time_base:{TIME_BASE}, collector:{COLLECTOR}, congestion_depth:100)",
    "add wire standard_metadata.ingress_port:1 to_port(port:2)",
    "add wire standard_metadata.ingress_port:2 to_port(port:1)",
    f"mirroring_add {COLLECTOR} {COLLECTOR_PORT}",
    f"add collectors meta.report.collector:{COLLECTOR} set_collector(src_mac:0x0200000000AA, dst_mac:0x0200000000BB, "
    f"src_addr:0xC0A80001, dst_addr:0xC0A80002, udp_port:{REPORT_PORT}, snap:{SNAP})",
]


def setup(name, about, *commands):
    test = Test(HERE / name, about)
    test.run(*NODE_COMMANDS, *commands)
    return test


def own(instructions, ingress=1, egress=2):
    """The metadata of this node for a bitmap; times are those of one instant in a test."""
    values = {
        "node_id": NODE,
        "ports": ingress << 16 | egress,
        "hop_latency": 0,
        "queue": 0,
        "level2_ports": 2**64 - 1,
        "tx_utilization": 2**32 - 1,
        "buffer": 2**32 - 1,
        "checksum_complement": 2**32 - 1,
    }
    words = b""
    for bit, name, size in int_scapy.INSTRUCTIONS:
        if instructions >> (15 - bit) & 1:
            words += values[name].to_bytes(4 * size, "big")
    return words


def with_int(frame, header, kind, sport=0):
    """The packet with INT: after the UDP header of a packet that has one, else in a UDP header of its own, which has the
    source port `sport`."""
    whole = bytes(frame)
    frame = frame.copy()
    layer = frame[IP] if IP in frame else frame[IPv6]
    if UDP in frame:
        udp = frame[UDP]
        payload = bytes(udp.payload)
        shim = IntShim(type=kind, npt=NPT_UDP, next_protocol=udp.dport)
        new = UDP(sport=udp.sport, dport=INT_PORT, chksum=udp.chksum)
    else:
        # With the checksum over the addresses, which the payload alone does not have.
        payload = whole[len(whole) - len(bytes(layer.payload)) :]
        protocol = layer.proto if IP in frame else layer.nh
        shim = IntShim(type=kind, npt=NPT_IP, next_protocol=protocol)
        new = UDP(sport=sport, dport=INT_PORT, chksum=0)
        if IP in frame:
            layer.proto = 17
        else:
            layer.nh = 17
    layer.remove_payload()
    return frame / new / shim / header / Raw(payload)


def built(frame):
    """With lengths and checksums as fields, so that what is put into the packet later computes them anew."""
    return frame.__class__(bytes(frame))


def entropy(frame):
    """The source port of the UDP header that a source adds to a packet without one: a hash of the flow."""
    layer = frame[IP] if IP in frame else frame[IPv6]
    ports = (frame[TCP].sport, frame[TCP].dport) if TCP in frame else (0, 0)
    protocol = layer.proto if IP in frame else layer.nh
    addresses = ipaddress.ip_address(layer.src).packed + ipaddress.ip_address(layer.dst).packed
    return dynamic_port(addresses + struct.pack("!HHB", *ports, protocol))


def md(instructions, stack, remaining, **fields):
    return IntMD(
        hop_ml=int_scapy.hop_words(instructions),
        instructions=instructions,
        remaining_hops=remaining,
        stack=stack,
        **fields,
    )


def report(inner, instructions, sequence, md_bits=None, drop=None, ingress=1, egress=2, **fields):
    """The report of this node about a packet."""
    bits = instructions & 0x7C00 if md_bits is None else md_bits
    values = own(bits & 0x7FFE, ingress, egress)
    if drop is not None:
        values += bytes([0, drop, 0, 0])
        fields["dropped"] = 1
    data = bytes(inner)[:SNAP]
    one = Report(md_bits=bits, metadata=values, data=data[: len(data) // 4 * 4], **fields)
    group = TelemetryReport(sequence_number=sequence, node_id=NODE, reports=[one])
    outer = Ether(src="02:00:00:00:00:aa", dst="02:00:00:00:00:bb") / IP(
        src="192.168.0.1", dst="192.168.0.2", id=0, flags="DF"
    )
    return outer / UDP(sport=REPORT_PORT, dport=REPORT_PORT, chksum=0) / group


FLOWS = {
    "UDP": ETHER / IPV4 / UDP(sport=1111, dport=2222) / DATA,
    "UDP without a checksum": ETHER / IPV4 / UDP(sport=1111, dport=2222, chksum=0) / DATA,
    "TCP": ETHER / IPV4 / TCP(sport=1111, dport=80, flags="PA", seq=1, ack=2) / DATA,
    "ICMP": ETHER / IPV4 / ICMP(id=3, seq=4) / DATA,
    "IPv4 options": ETHER
    / IP(src="10.0.0.1", dst="10.0.0.2", options=[IPOption_NOP()] * 4)
    / UDP(sport=1, dport=2)
    / DATA,
    "a VLAN": ETHER / Dot1Q(vlan=100, prio=5) / IPV4 / UDP(sport=1111, dport=2222) / DATA,
    "two VLANs": ETHER / Dot1Q(vlan=100) / Dot1Q(vlan=7) / IPV4 / TCP(sport=1111, dport=80) / DATA,
    "UDP over IPv6": ETHER / IPV6 / UDP(sport=1111, dport=2222) / DATA,
    "TCP over IPv6": ETHER / IPV6 / TCP(sport=1111, dport=80, flags="S") / DATA,
}
WATCH_ALL = [
    "add watch_ipv4 1 standard_metadata.ingress_port:1 {action}",
    "add watch_ipv6 1 standard_metadata.ingress_port:1 {action}",
]


def watch_all(action):
    return [line.format(action=action) for line in WATCH_ALL]


def frames_with_int(header, kind):
    for name, frame in FLOWS.items():
        yield name, frame, with_int(frame, header, kind, entropy(frame))


def source_md():
    action = f"embed_data(instructions:{NODE_AND_PORTS:#x}, max_hops:8, collector:{COLLECTOR})"
    test = setup("int_source_md.stf", "The source embeds INT-MD with its own metadata.", *watch_all(action))
    header = md(NODE_AND_PORTS, own(NODE_AND_PORTS), 7)
    for name, frame, other in frames_with_int(header, TYPE_MD):
        test.say(f"{name}.")
        test.through(1, frame, 2, other)
    test.say("Another IPv6 address gives another source port.")
    frame = ETHER / IPv6(src="2001:db8::1", dst="2001:db8::3") / TCP(sport=1111, dport=80, flags="S") / DATA
    test.through(1, frame, 2, with_int(frame, header, TYPE_MD, entropy(frame)))
    test.say("Not watched: from another port, a fragment, ARP.")
    test.through(2, FLOWS["UDP"], 1)
    fragment = (
        ETHER
        / IP(src="10.0.0.1", dst="10.0.0.2", flags="MF", id=9)
        / UDP(sport=1111, dport=2222, len=100, chksum=1)
        / DATA
    )
    test.through(1, fragment, 2)
    test.through(1, Ether(src="02:00:00:00:00:01", dst="ff:ff:ff:ff:ff:ff", type=0x0806) / Raw(bytes(46)), 2)
    test.say("A frame that is shorter than its IP length is forwarded as it is.")
    test.through(1, bytes(FLOWS["UDP"])[:-1], 2)
    test.say("Padding of Ethernet stays behind the packet.")
    short = ETHER / IPV4 / UDP(sport=1111, dport=2222) / Raw(b"x")
    test.through(1, bytes(short) + bytes(17), 2, bytes(with_int(short, header, TYPE_MD)) + bytes(17))
    test.counter("int_packets", 0, len(FLOWS) + 2)
    return test


def source_all_metadata():
    bits = 0xFF81 & ~0x2C00
    action = f"embed_data(instructions:{bits:#x}, max_hops:1, collector:{COLLECTOR})"
    test = setup(
        "int_source_all.stf",
        "Every baseline instruction but the times; what the switch does not measure is all ones, and so is the checksum complement.",
        *watch_all(action),
    )
    header = md(bits, own(bits), 0)
    for name, frame, other in frames_with_int(header, TYPE_MD):
        test.say(f"{name}.")
        test.through(1, frame, 2, other)
    return test


def source_times():
    bits = 0x2C00
    action = f"embed_data(instructions:{bits:#x}, max_hops:4, collector:{COLLECTOR})"
    test = setup(
        "int_source_times.stf", "Latency and times of ingress and egress have their places.", *watch_all(action)
    )
    header = md(bits, bytes(20), 3)
    frame = FLOWS["UDP"]
    other = with_int(frame, header, TYPE_MD)
    test.through(1, frame, 2, other, [(14 + 20 + 6, 2), (14 + 20 + 8 + 4 + 12, 20)])
    return test


def source_limits():
    wide = f"embed_data(instructions:{NODE_AND_PORTS:#x}, max_hops:8, collector:{COLLECTOR})"
    none = f"embed_data(instructions:{NODE_AND_PORTS:#x}, max_hops:0, collector:{COLLECTOR})"
    frame = FLOWS["UDP"]
    length = len(frame) - 14
    test = setup(
        "int_source_limits.stf",
        "The source and the MTU of the egress port, and a hop count of 0.",
        "add watch_ipv4 1 meta.dst_port:2222 " + wide,
        "add watch_ipv4 1 meta.dst_port:80 " + wide,
        "add watch_ipv4 1 meta.dst_port:3333 " + none,
        f"add mtus standard_metadata.egress_port:2 set_mtu(mtu:{length + 16 + 8})",
    )
    test.say("It just fits.")
    test.through(1, frame, 2, with_int(frame, md(NODE_AND_PORTS, own(NODE_AND_PORTS), 7), TYPE_MD))
    test.say("The headers fit, the metadata do not: M is set.")
    longer = ETHER / IPV4 / UDP(sport=1111, dport=2222) / Raw(bytes(41))
    test.through(1, longer, 2, with_int(longer, md(NODE_AND_PORTS, b"", 8, mtu_exceeded=1), TYPE_MD))
    longer = ETHER / IPV4 / UDP(sport=1111, dport=2222) / Raw(bytes(48))
    test.through(1, longer, 2, with_int(longer, md(NODE_AND_PORTS, b"", 8, mtu_exceeded=1), TYPE_MD))
    test.say("The headers do not fit: no INT. TCP needs a UDP header more.")
    test.through(1, ETHER / IPV4 / UDP(sport=1111, dport=2222) / Raw(bytes(49)), 2)
    test.through(1, ETHER / IPV4 / TCP(sport=1111, dport=80) / Raw(bytes(29)), 2)
    test.counter("int_packets", 10, 2)
    test.say("No hop may add metadata, the source included.")
    frame = ETHER / IPV4 / UDP(sport=1111, dport=3333) / DATA
    test.through(1, frame, 2, with_int(frame, md(NODE_AND_PORTS, b"", 0), TYPE_MD))
    return test


def watch_lists():
    action = f"embed_data(instructions:0x8000, max_hops:8, collector:{COLLECTOR})"
    test = setup(
        "int_watch.stf",
        "What watch lists match: prefixes, protocol, DSCP, ports; the entry of higher priority counts.",
        f"add watch_ipv4 1 ipv4.src_addr:0x0A0000** ipv4.dst_addr:0x0A00**** meta.protocol:17 {action}",
        "add watch_ipv4 2 meta.dst_port:53 NoAction()",
        f"add watch_ipv4 1 ipv4.dscp:46 {action}",
        f"add watch_ipv6 1 ipv6.dst_addr:0x20010db8000000000000000000000002 meta.src_port:1111 {action}",
    )
    header = md(0x8000, own(0x8000), 7)
    yes = [
        ETHER / IPV4 / UDP(sport=1, dport=2) / DATA,
        ETHER / IP(src="172.16.0.1", dst="172.16.0.2", tos=46 << 2) / UDP(sport=1, dport=2) / DATA,
        FLOWS["UDP over IPv6"],
    ]
    no = [
        ETHER / IPV4 / UDP(sport=1, dport=53) / DATA,
        ETHER / IP(src="10.0.1.1", dst="10.0.0.2") / UDP(sport=1, dport=2) / DATA,
        ETHER / IPV6 / UDP(sport=1112, dport=2) / DATA,
        FLOWS["TCP"],
    ]
    ipv6 = IPv6(src="2001:db8::9", dst="2001:db8::9")
    data = UDP(sport=1111, dport=2) / DATA
    test.run(f"add watch_ipv6 1 ipv6.dst_addr:0x20010db8000000000000000000000009 {action}")
    no += [
        ETHER / ipv6 / extension / data
        for extension in (
            IPv6ExtHdrHopByHop(),
            IPv6ExtHdrRouting(addresses=["2001:db8::7"], segleft=0),
            IPv6ExtHdrFragment(m=1, id=1),
            IPv6ExtHdrDestOpt(),
        )
    ]
    for frame in yes:
        test.through(1, frame, 2, with_int(frame, header, TYPE_MD))
    for frame in no:
        test.through(1, frame, 2)
    return test


def source_mx():
    action = f"embed_instructions(instructions:{PORTS_AND_QUEUE:#x}, collector:{COLLECTOR})"
    test = setup("int_source_mx.stf", "The source embeds INT-MX and reports its own metadata.", *watch_all(action))
    header = IntMX(instructions=PORTS_AND_QUEUE)
    for number, (name, frame, other) in enumerate(frames_with_int(header, TYPE_MX)):
        test.say(f"{name}.")
        test.through(1, frame, 2, other)
        test.expect(COLLECTOR_PORT, report(other, PORTS_AND_QUEUE, number))
    return test


def export():
    bits = 0xD000
    test = setup(
        "int_export.stf",
        "INT-XD: the packet stays as it is, and the node reports. Reports are numbered.",
        *watch_all(f"export_data(instructions:{bits:#x}, collector:{COLLECTOR})"),
    )
    for number, (name, frame) in enumerate(FLOWS.items()):
        test.say(f"{name}.")
        test.through(1, frame, 2)
        test.expect(COLLECTOR_PORT, report(frame, bits, number))
    test.say("Of a long packet the report has the beginning.")
    frame = ETHER / IPV4 / UDP(sport=1, dport=2) / Raw(bytes(1000))
    test.through(1, frame, 2)
    test.expect(COLLECTOR_PORT, report(frame, bits, len(FLOWS)))
    test.counter("int_packets", 2, len(FLOWS) + 1)
    return test


def other_hops(instructions, count):
    size = 4 * int_scapy.hop_words(instructions)
    return bytes((17 * at + 3) % 251 for at in range(size * count))


def transit_md():
    test = setup(
        "int_transit_md.stf",
        "A transit hop puts its metadata before those of the hops before it.",
        "add int_ports standard_metadata.ingress_port:1 NoAction()",
    )
    for bits in (0x8000, NODE_AND_PORTS, 0xFF81 & ~0x2C00):
        for count in (0, 1, 3):
            stack = other_hops(bits, count)
            for name, frame in FLOWS.items():
                test.say(f"{name}, instructions {bits:#x}, {count} hops before.")
                before = with_int(frame, md(bits, stack, 9 - count), TYPE_MD)
                after = with_int(frame, md(bits, own(bits) + stack, 8 - count), TYPE_MD)
                test.through(1, before, 2, after)
    test.counter("int_packets", 3, 9 * len(FLOWS))
    return test


def transit_limits():
    bits = NODE_AND_PORTS
    frame = FLOWS["UDP"]
    stack = other_hops(bits, 1)
    before = with_int(frame, md(bits, stack, 3), TYPE_MD)
    length = len(before) - 14
    test = setup(
        "int_transit_limits.stf",
        "When a transit hop adds nothing: hop count, MTU, instructions that it does not know.",
        "add int_ports standard_metadata.ingress_port:1 NoAction()",
        f"add mtus standard_metadata.egress_port:2 set_mtu(mtu:{length + 8})",
    )
    test.say("It just fits.")
    test.through(1, before, 2, with_int(frame, md(bits, own(bits) + stack, 2), TYPE_MD))
    test.say("The hop count is used up: E is set, and stays.")
    for fields in ({}, {"hops_exceeded": 1}):
        before = with_int(frame, md(bits, stack, 0, **fields), TYPE_MD)
        test.through(1, before, 2, with_int(frame, md(bits, stack, 0, hops_exceeded=1), TYPE_MD))
    test.counter("int_packets", 7, 2)
    test.say("The MTU would be exceeded: M is set.")
    longer = ETHER / IPV4 / UDP(sport=1111, dport=2222) / Raw(bytes(41))
    test.through(
        1,
        with_int(longer, md(bits, stack, 3), TYPE_MD),
        2,
        with_int(longer, md(bits, stack, 3, mtu_exceeded=1), TYPE_MD),
    )
    test.counter("int_packets", 8, 1)
    test.say("Reserved instructions, metadata of a domain, another version, a wrong Hop ML: left as they are.")
    strange = [
        md(0x8040, other_hops(0x8000, 2), 3),
        md(bits, stack, 3, domain_id=1, ds_instructions=0x8000),
        md(bits, stack, 3, version=1),
        IntMD(hop_ml=3, instructions=bits, remaining_hops=3, stack=bytes(12)),
    ]
    for header in strange:
        test.through(1, with_int(frame, header, TYPE_MD), 2)
    test.counter("int_packets", 9, len(strange))
    return test


def transit_deep():
    bits = 0x8000
    test = setup(
        "int_transit_deep.stf",
        "The longest stack: 255 words after the shim header.",
        "add int_ports standard_metadata.ingress_port:1 NoAction()",
    )
    frame = FLOWS["UDP"]
    test.through(
        1,
        with_int(frame, md(bits, other_hops(bits, 251), 9), TYPE_MD),
        2,
        with_int(frame, md(bits, own(bits) + other_hops(bits, 251), 8), TYPE_MD),
    )
    full = md(bits, other_hops(bits, 252), 9)
    test.through(
        1, with_int(frame, full, TYPE_MD), 2, with_int(frame, md(bits, full.stack, 9, mtu_exceeded=1), TYPE_MD)
    )
    return test


def transit_mx():
    bits = PORTS_AND_QUEUE
    test = setup(
        "int_transit_mx.stf",
        "INT-MX at a transit hop: the packet stays as it is, the node reports.",
        "add int_ports standard_metadata.ingress_port:1 NoAction()",
    )
    for number, (name, frame) in enumerate(FLOWS.items()):
        test.say(f"{name}.")
        frame = with_int(frame, IntMX(instructions=bits, domain_id=77), TYPE_MX)
        test.through(1, frame, 2)
        test.expect(COLLECTOR_PORT, report(frame, bits, number, domain_id=77))
    test.say("Metadata that the source has inserted are in the packet of the report.")
    frame = with_int(
        FLOWS["UDP"], IntMX(instructions=bits, domain_id=77, ds_instructions=0x8000, stack=b"\1\2\3\4"), TYPE_MX
    )
    test.through(1, frame, 2)
    test.expect(COLLECTOR_PORT, report(frame, bits, len(FLOWS), domain_id=77))
    test.say("Another version: its fields are not known, and there is no report.")
    test.through(1, with_int(FLOWS["UDP"], IntMX(version=1, instructions=bits), TYPE_MX), 2)
    test.say("A next protocol that is neither a UDP payload nor an IP protocol.")
    for npt in (0, 3):
        strange = with_int(FLOWS["UDP"], IntMX(instructions=bits), TYPE_MX)
        strange[IntShim].npt = npt
        test.through(1, strange, 2)
    test.counter("int_packets", 4, len(FLOWS) + 1)
    test.counter("int_packets", 9, 3)
    return test


SINK = [
    "add int_ports standard_metadata.ingress_port:1 NoAction()",
    f"add sink_ports standard_metadata.egress_port:2 int_sink(collector:{COLLECTOR})",
]


def sink():
    test = setup("int_sink.stf", "The sink restores the packet and reports stack and own metadata.", *SINK)
    number = 0
    for kind, bits, count in (
        (TYPE_MD, 0xD000, 0),
        (TYPE_MD, 0xD000, 3),
        (TYPE_MD, 0xFF80 & ~0x2C00, 2),
        (TYPE_MX, 0xD000, 0),
    ):
        for name, frame in FLOWS.items():
            test.say(f"{name}, {'MD' if kind == TYPE_MD else 'MX'}, {count} hops.")
            header = md(bits, other_hops(bits, count), 4) if kind == TYPE_MD else IntMX(instructions=bits)
            came = with_int(frame, header, kind)
            test.packet(1, came)
            test.expect(2, frame)
            test.expect(COLLECTOR_PORT, report(came, bits, number))
            number += 1
    test.counter("int_packets", 5, 3 * len(FLOWS))
    test.counter("int_packets", 6, len(FLOWS))
    test.counter("int_packets", 11, 4 * len(FLOWS))
    return test


def sink_others():
    test = setup(
        "int_sink_others.stf",
        "The sink with flags, other packets, and packets whose checksum is wrong.",
        *SINK,
        *watch_all(f"embed_data(instructions:0xC000, max_hops:8, collector:{COLLECTOR})"),
    )
    bits = 0xC000
    stack = other_hops(bits, 2)
    frame = FLOWS["UDP"]
    test.say("E and M are in the report.")
    came = with_int(frame, md(bits, stack, 0, hops_exceeded=1, mtu_exceeded=1), TYPE_MD)
    test.packet(1, came)
    test.expect(2, frame)
    test.expect(COLLECTOR_PORT, report(came, bits, 0))
    test.say("D: reported, and discarded.")
    came = with_int(frame, md(bits, stack, 3, discard=1), TYPE_MD)
    test.packet(1, came)
    test.expect(COLLECTOR_PORT, report(came, bits, 1))
    test.counter("int_packets", 12, 1)
    test.say("A packet without INT that is watched here: source and sink in one, which reports and adds nothing.")
    test.through(1, frame, 2)
    test.expect(COLLECTOR_PORT, report(frame, bits, 2))
    test.say("A checksum that was wrong stays wrong by the same amount.")
    wrong = built(frame)
    wrong[UDP].chksum ^= 0x0110
    came = built(with_int(frame, md(bits, stack, 3), TYPE_MD))
    came[UDP].chksum = ones_add(came[UDP].chksum, ones_add(wrong[UDP].chksum, 0xFFFF ^ built(frame)[UDP].chksum))
    test.packet(1, came)
    test.expect(2, wrong)
    test.expect(COLLECTOR_PORT, report(came, bits, 3))
    return test


def ones_add(one, other):
    total = one + other
    return (total & 0xFFFF) + (total >> 16)


def drops():
    bits = 0xC800
    test = setup(
        "int_drops.stf",
        "What is dropped is counted by reason, and reported when it is watched or has INT.",
        "add int_ports standard_metadata.ingress_port:3 NoAction()",
        "add acl 1 ipv4.dst_addr:0x0A000063 deny()",
        "add wire standard_metadata.ingress_port:3 to_port(port:1)",
        f"add watch_ipv4 1 meta.protocol:17 drops_only(instructions:{bits:#x}, collector:{COLLECTOR})",
    )

    def dropped(port, frame, reason, number):
        """Ports, time of arrival (not known here), drop reason."""
        test.packet(port, frame)
        one = report(frame, bits, number, md_bits=0x4001, drop=reason, ingress=port, egress=0xFFFF)
        parts = one[TelemetryReport].reports[0]
        parts.md_bits = 0x4801
        parts.metadata = parts.metadata[:4] + bytes(8) + parts.metadata[4:]
        test.expect(COLLECTOR_PORT, one, [(14 + 20 + 8 + 8 + 4 + 8 + 4, 8)])

    denied = ETHER / IP(src="10.0.0.1", dst="10.0.0.99") / UDP(sport=1, dport=2) / DATA
    test.say("Denied, watched.")
    dropped(1, denied, DROP_DENIED, 0)
    test.say("Nothing says where to.")
    dropped(7, FLOWS["UDP"], DROP_NO_FORWARDING, 1)
    test.say("Denied, not watched.")
    test.packet(1, ETHER / IP(src="10.0.0.1", dst="10.0.0.99") / TCP(sport=1, dport=2) / DATA)
    test.say("With INT: reported to the collector of the node.")
    dropped(3, with_int(denied, md(bits, other_hops(bits, 1), 3), TYPE_MD), DROP_DENIED, 2)
    test.say("Protocol and ports are those of the packet that carries INT: of UDP, TCP, ICMP.")
    test.run(
        "add acl 2 meta.protocol:17 meta.dst_port:7777 deny()",
        "add acl 2 meta.protocol:6 meta.dst_port:7777 deny()",
        "add acl 2 meta.protocol:1 deny()",
    )
    for number, layer in enumerate((UDP(sport=1, dport=7777), TCP(sport=1, dport=7777), ICMP()), 3):
        frame = with_int(ETHER / IPV4 / layer / DATA, md(bits, other_hops(bits, 1), 3), TYPE_MD)
        dropped(3, frame, DROP_DENIED, number)
    test.say("INT from a port of a host: dropped, not reported.")
    test.packet(1, with_int(FLOWS["UDP"], md(bits, b"", 3), TYPE_MD))
    test.say("Too short for its headers, another version of IP.")
    test.packet(1, bytes(FLOWS["UDP"])[:30])
    bad = bytearray(bytes(FLOWS["UDP"]))
    bad[14] = 0x65
    test.packet(1, bytes(bad))
    test.packet(3, bytes(with_int(FLOWS["UDP"], md(bits, b"", 3), TYPE_MD))[:50])
    test.say("INT that is longer than its datagram, or than its IP packet.")
    test.run("add sink_ports standard_metadata.egress_port:1 int_sink(collector:5)")
    for layer, field in ((UDP, "len"), (IP, "len")):
        frame = built(with_int(FLOWS["UDP"], md(bits, other_hops(bits, 2), 3), TYPE_MD))
        setattr(frame[layer], field, getattr(frame[layer], field) - 41)
        del frame[IP].chksum
        test.packet(3, frame)
    test.say("Not dropped.")
    test.through(1, FLOWS["UDP"], 2)
    for reason, packets in ((1, 5), (2, 1), (3, 6), (4, 1)):
        test.counter("drops", reason, packets)
    return test


def forwarding():
    test = setup(
        "int_forward.stf",
        "Forwarding: the destination address goes before the port, groups, and a collector that does not exist.",
        "add dst_mac hdr.ethernet.dst_addr:0x020000000009 to_port(port:7)",
        "add dst_mac hdr.ethernet.dst_addr:0xFFFFFFFFFFFF to_group(group:3)",
        "mc_mgrp_create 3",
        "mc_node_create 0 2 7",
        "mc_node_associate 3 0",
        "add watch_ipv4 1 meta.dst_port:2222 export_data(instructions:0x4000, collector:6)",
    )
    frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:09") / IPV4 / UDP(sport=1, dport=2) / DATA
    test.through(1, frame, 7)
    frame = Ether(src="02:00:00:00:00:01", dst="ff:ff:ff:ff:ff:ff") / IPV4 / UDP(sport=1, dport=2) / DATA
    test.packet(1, frame)
    test.expect(2, frame)
    test.expect(7, frame)
    test.through(1, FLOWS["UDP"], 2)
    return test


def without_sink(make):
    """The same test of a node without a sink."""

    def made():
        test = make()
        test.path = test.path.with_name(test.path.name.replace("int_", "int_inner_"))
        test.lines.insert(1, "# forebay: -D NO_SINK")
        return test

    return made


TESTS = [
    source_md,
    source_all_metadata,
    source_times,
    source_limits,
    source_mx,
    watch_lists,
    export,
    transit_md,
    transit_limits,
    transit_deep,
    transit_mx,
    sink,
    sink_others,
    drops,
    forwarding,
    *map(without_sink, (source_md, source_mx, transit_md, transit_limits, transit_mx)),
]

if __name__ == "__main__":
    sys.exit(write([make() for make in TESTS]))
