#!/usr/bin/env python3
"""Writes the STF tests of upf.p4. The packets are made by scapy with its layers for GTP-U, apart from the program.

    make_tests.py [--check]

Needs scapy from PyPI.
"""

import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import with_scapy  # noqa: F401
from scapy.contrib.gtp import GTP_U_Header, GTPPDUSessionContainer
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import (
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6ND_RA,
    ICMPv6ND_RS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    ICMPv6NDOptUnknown,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from stf import Test, write
from wrong import network_ipv4, network_ipv6, transport_ipv4, transport_ipv6

N3, N6, CPU = 1, 2, 510
UPF_N3, GNB = "192.168.3.1", "192.168.3.2"
UPF_N3_V6, GNB_V6 = "2001:db8:3::1", "2001:db8:3::2"
UPF_N3_MAC, GNB_MAC = "02:00:00:00:03:01", "02:00:00:00:03:02"
UPF_N6_MAC, ROUTER_MAC = "02:00:00:00:06:01", "02:00:00:00:06:02"
UE, UE_V6, SERVER, SERVER_V6 = "10.45.0.2", "2001:db8:45::2", "203.0.113.9", "2001:db8:9::9"
UPLINK_TEID, DOWNLINK_TEID, DOWNLINK_TEID_V6 = 0x1001, 0x2001, 0x2002
QFI = 9
DATA = Raw(bytes(range(64)))

ON_N3 = Ether(src=GNB_MAC, dst=UPF_N3_MAC)
FROM_N3 = Ether(src=UPF_N3_MAC, dst=GNB_MAC)
ON_N6 = Ether(src=ROUTER_MAC, dst=UPF_N6_MAC)
FROM_N6 = Ether(src=UPF_N6_MAC, dst=ROUTER_MAC)

DROPS = [
    "malformed",
    "not_ip",
    "not_gtpu",
    "type",
    "extension",
    "session",
    "spoofed",
    "no_termination",
    "termination",
    "far",
    "gate",
    "rate",
    "ttl",
    "route",
    "long",
    "fragment",
    "group",
    "solicitation",
]


def number(address):
    packed = IP(src=address) if ":" not in address else IPv6(src=address)
    raw = bytes(packed)[12:16] if ":" not in address else bytes(packed)[8:24]
    return "0x" + raw.hex()


def mac(address):
    return "0x" + address.replace(":", "")


def tunnel_v4(far, teid, dst=GNB, dscp=0):
    return (
        f"add fars meta.far:{far} to_tunnel_ipv4(src_addr:{number(UPF_N3)}, dst_addr:{number(dst)}, tunnel:{teid}, "
        f"src_port:2152, marking:{dscp})"
    )


PORTS = [
    f"add own_ipv4 hdr.ipv4.dst_addr:{number(UPF_N3)} own(mac:{mac(UPF_N3_MAC)})",
    f"add own_ipv6 hdr.ipv6.dst_addr:{number(UPF_N3_V6)} own(mac:{mac(UPF_N3_MAC)})",
    f"add arp_ipv4 hdr.arp.target_ip:{number(UPF_N3)} own(mac:{mac(UPF_N3_MAC)})",
    f"add nd_ipv6 hdr.neighbour.target:{number(UPF_N3_V6)} own(mac:{mac(UPF_N3_MAC)})",
    "add routes_ipv4 ipv4_dst:0/0 to_next_hop(next_hop:2)",
    f"add routes_ipv4 ipv4_dst:{number('192.168.3.0')}/24 to_next_hop(next_hop:1)",
    "add routes_ipv6 ipv6_dst:0/0 to_next_hop(next_hop:2)",
    f"add routes_ipv6 ipv6_dst:{number('2001:db8:3::')}/48 to_next_hop(next_hop:1)",
    f"add next_hops meta.next_hop:1 to_port(port:{N3}, src_mac:{mac(UPF_N3_MAC)}, dst_mac:{mac(GNB_MAC)}, mtu:1600)",
    f"add next_hops meta.next_hop:2 to_port(port:{N6}, src_mac:{mac(UPF_N6_MAC)}, dst_mac:{mac(ROUTER_MAC)}, mtu:1500)",
]
PREFIX = "0x" + bytes(IPv6(src=UE_V6))[8:16].hex()
SESSION = [
    f"add sessions_uplink hdr.gtpu.teid:{UPLINK_TEID} "
    f"uplink_session(session:1, rules:1, ue_ipv4:{number(UE)}, ue_prefix:{PREFIX}, to_ue:0)",
    f"add sessions_downlink_ipv4 hdr.ipv4.dst_addr:{number(UE)} downlink_session(session:1, rules:1)",
    f"add sessions_downlink_ipv6 ue_prefix:{PREFIX} downlink_session(session:1, rules:1)",
    "add terminations_uplink meta.session:1 meta.application:0 "
    "forward(far:1, flow_qer:1, session_qer:2, flow_urr:1, session_urr:2, third_urr:0, fourth_urr:0, before_qos:0, closed:0)",
    "add terminations_downlink meta.session:1 meta.application:0 "
    "forward(far:2, flow_qer:1, session_qer:2, flow_urr:1, session_urr:2, third_urr:0, fourth_urr:0, before_qos:0, closed:0)",
    f"add qers meta.flow_qer:1 set_qer(uplink_closed:0, downlink_closed:0, qfi:{QFI}, reflective:0)",
    "add fars meta.far:1 to_core()",
    tunnel_v4(2, DOWNLINK_TEID),
]


def setup(name, about, *commands, ports=PORTS, session=SESSION):
    test = Test(HERE / name, about)
    test.run(*ports, *session, *commands)
    return test


USER = {
    "UDP": IP(src=UE, dst=SERVER, ttl=64) / UDP(sport=4000, dport=53) / DATA,
    "TCP": IP(src=UE, dst=SERVER, ttl=64) / TCP(sport=4000, dport=443, flags="S") / DATA,
    "ICMP": IP(src=UE, dst=SERVER, ttl=64) / ICMP() / DATA,
    "IPv4 options": IP(src=UE, dst=SERVER, ttl=64, options=[IPOption_NOP()] * 4) / UDP(sport=4000, dport=53) / DATA,
    "a fragment": IP(src=UE, dst=SERVER, ttl=64, flags="MF", proto=17) / Raw(bytes(64)),
    "UDP over IPv6": IPv6(src=UE_V6, dst=SERVER_V6) / UDP(sport=4000, dport=53) / DATA,
    "TCP over IPv6": IPv6(src=UE_V6, dst=SERVER_V6) / TCP(sport=4000, dport=443, flags="S") / DATA,
    "ICMPv6": IPv6(src=UE_V6, dst=SERVER_V6) / ICMPv6EchoRequest(id=1, data=bytes(64)),
}


def turned(packet):
    """The same from the other end."""
    packet = packet.copy()
    packet.src, packet.dst = packet.dst, packet.src
    for layer in (UDP, TCP):
        if layer in packet:
            packet[layer].sport, packet[layer].dport = packet[layer].dport, packet[layer].sport
    return packet


def hop_further(packet):
    packet = packet.copy()
    if IP in packet:
        packet.ttl -= 1
    else:
        packet.hlim -= 1
    return packet


def container(kind, qfi, **fields):
    return GTPPDUSessionContainer(ExtHdrLen=1, type=kind, QFI=qfi, NextExtHdr=0, **fields)


def outer(source=GNB, destination=UPF_N3, **fields):
    kind = IPv6 if ":" in source else IP
    return kind(src=source, dst=destination, **fields)


def uplink(packet, teid=UPLINK_TEID, qfi=QFI, ip=None):
    """A G-PDU as a gNB sends it."""
    ip = ip or outer(id=3)
    header = GTP_U_Header(teid=teid, E=1, next_ex=0x85) / container(1, qfi) if qfi else GTP_U_Header(teid=teid, E=0)
    return ON_N3 / ip / UDP(sport=2152, dport=2152) / header / packet


def downlink(packet, teid=DOWNLINK_TEID, qfi=QFI, rqi=0, source=UPF_N3, destination=GNB, tos=0):
    """A G-PDU as this UPF sends it."""
    ip = outer(source, destination)
    if ":" in source:
        ip.tc = tos
    else:
        ip.id, ip.flags, ip.tos = 0, "DF", tos
    payload = bytes(packet)
    if qfi:
        extra = bytes([0, 0, 0, 0x85, 1, 0, rqi << 6 | qfi, 0])
        header = struct.pack("!BBHI", 0x34, 255, len(payload) + 8, teid) + extra
    else:
        header = struct.pack("!BBHI", 0x30, 255, len(payload), teid)
    return FROM_N3 / ip / UDP(sport=2152, dport=2152, chksum=0) / Raw(header + payload)


def sessions():
    test = setup("upf_sessions.stf", "Uplink and downlink of a session, IPv4 and IPv6.")
    for name, packet in USER.items():
        test.say(f"{name}, uplink and downlink.")
        test.through(N3, uplink(packet), N6, FROM_N6 / hop_further(packet))
        test.through(N6, ON_N6 / turned(packet), N3, downlink(hop_further(turned(packet))))
    test.say("Usage: packets, and bytes; downlink bytes with 14 of Ethernet, uplink bytes in registers.")
    total = sum(len(packet) for packet in USER.values())
    for urr in (1, 2):
        test.counter("uplink_usage", urr, len(USER))
        test.counter("downlink_usage", urr, len(USER))
        test.run(
            f"check_counter downlink_usage({urr}) bytes == {total + 14 * len(USER)}",
            f"register_read uplink_bytes {urr}",
        )
    test.say("A frame with 6 bytes of padding, which are noted beside the counter.")
    short = IP(src=SERVER, dst=UE, ttl=64) / TCP(sport=443, dport=4000)
    test.through(N6, bytes(ON_N6 / short) + bytes(6), N3, bytes(downlink(hop_further(short))) + bytes(6))
    test.run("register_read downlink_padding 1", "register_read downlink_padding 2")
    return test


def tunnels():
    v6 = (
        f"add fars meta.far:3 to_tunnel_ipv6(src_addr:{number(UPF_N3_V6)}, dst_addr:{number(GNB_V6)}, "
        f"tunnel:{DOWNLINK_TEID_V6}, src_port:2152, marking:46)"
    )
    session = [line for line in SESSION if "terminations_downlink" not in line and "qers" not in line]
    test = setup(
        "upf_tunnels.stf",
        "Tunnels over IPv6, without QFI (4G), with DSCP and reflective QoS, from UPF to UPF (N9).",
        v6,
        tunnel_v4(4, 0x3001, dscp=46),
        "add terminations_downlink meta.session:1 meta.application:0 forward(far:3, flow_qer:3, session_qer:0, flow_urr:0, session_urr:0, third_urr:0, fourth_urr:0, before_qos:0, closed:0)",
        "add qers meta.flow_qer:3 set_qer(uplink_closed:0, downlink_closed:0, qfi:5, reflective:1)",
        f"add sessions_downlink_ipv4 hdr.ipv4.dst_addr:{number('10.45.0.3')} downlink_session(session:3, rules:0)",
        "add terminations_downlink meta.session:3 meta.application:0 forward(far:4, flow_qer:0, session_qer:0, flow_urr:0, session_urr:0, third_urr:0, fourth_urr:0, before_qos:0, closed:0)",
        "add sessions_uplink hdr.gtpu.teid:0x9001 uplink_session(session:9, rules:0, ue_ipv4:0, ue_prefix:0, to_ue:1)",
        "add terminations_uplink meta.session:9 meta.application:0 forward(far:4, flow_qer:3, session_qer:0, flow_urr:0, session_urr:0, third_urr:0, fourth_urr:0, before_qos:0, closed:0)",
        session=session,
    )
    packet = USER["UDP"]
    test.say("Over IPv6, marked for reflective QoS.")
    one = downlink(hop_further(turned(packet)), DOWNLINK_TEID_V6, 5, 1, UPF_N3_V6, GNB_V6, 46 << 2)
    test.through(N6, ON_N6 / turned(packet), N3, one)
    test.say("From a gNB over IPv6.")
    test.through(N3, uplink(packet, ip=outer(GNB_V6, UPF_N3_V6)), N6, FROM_N6 / hop_further(packet))
    test.say("Without QFI there is no PDU session container.")
    other = turned(packet)
    other.dst = "10.45.0.3"
    test.through(N6, ON_N6 / other, N3, downlink(hop_further(other), 0x3001, 0, tos=46 << 2))
    test.through(N3, uplink(packet, qfi=0), N6, FROM_N6 / hop_further(packet))
    test.say("N9: from one tunnel into another.")
    test.through(N3, uplink(packet, teid=0x9001), N3, downlink(packet, 0x3001, 5, 1, tos=46 << 2))
    test.say("So do router solicitations and advertisements, whose hop limit must stay 255 (RFC 4861 §6.1).")
    solicitation = IPv6(src="fe80::1", dst="ff02::2", hlim=255) / ICMPv6ND_RS()
    advertisement = IPv6(src="fe80::2", dst="ff02::1", hlim=255) / ICMPv6ND_RA()
    for message in (solicitation, advertisement):
        test.through(N3, uplink(message, teid=0x9001), N3, downlink(message, 0x3001, 5, 1, tos=46 << 2))
    test.say("An SMF that answers solicitations has a rule with a tunnel for them. They alone may have other sources.")
    test.run(
        f"add applications_ipv6 1 meta.rules:1 meta.remote_ipv6:{number('ff02::2')} meta.protocol:58 set_application(application:9)",
        "add terminations_uplink meta.session:1 meta.application:9 forward(far:4, flow_qer:0, session_qer:0, flow_urr:0, session_urr:0, third_urr:0, fourth_urr:0, before_qos:0, closed:0)",
    )
    test.through(N3, uplink(solicitation), N3, downlink(solicitation, 0x3001, 0, tos=46 << 2))
    test.packet(N3, uplink(IPv6(src="fe80::1", dst="ff02::2", hlim=255) / ICMPv6EchoRequest()))
    test.packet(N3, uplink(IPv6(src="fe80::1", dst=SERVER_V6, hlim=255) / ICMPv6ND_RS()))
    test.counter("drops", DROPS.index("spoofed"), 2)
    test.say("GTP-U between a UE and a server is a payload like any other.")
    inside = IP(src=SERVER, dst="10.45.0.3") / UDP(sport=2152, dport=2152) / GTP_U_Header(teid=7, E=0) / USER["TCP"]
    test.through(N6, ON_N6 / inside, N3, downlink(hop_further(inside), 0x3001, 0, tos=46 << 2))
    return test


def gtpu(message, teid, optional=b"", body=b"", flags=0x30):
    return Raw(struct.pack("!BBHI", flags, message, len(optional) + len(body), teid) + optional + body)


def headers():
    test = setup("upf_headers.stf", "Every form of the GTP-U header: flags, chains of extension headers, long ones.")
    packet = USER["UDP"]
    body = bytes(packet)
    ip = ON_N3 / outer() / UDP(sport=2152, dport=2152)
    long_container = bytes([4, 0x18, 9]) + bytes(12) + b"\0"
    forms = {
        "sequence number": (0x32, bytes([0, 7, 0, 0])),
        "N-PDU number": (0x31, bytes([0, 0, 9, 0])),
        "both": (0x33, bytes([0, 7, 9, 0])),
        "E without an extension": (0x34, bytes([0, 0, 0, 0])),
        "a PDU session container of 16 bytes": (0x34, bytes([0, 0, 0, 0x85]) + long_container),
        "three extension headers": (0x34, bytes([0, 0, 0, 0x40, 1, 8, 0x68, 0x85, 1, 0x10, 9, 0x20, 1, 0, 0, 0])),
        "the container second": (0x36, bytes([0, 7, 0, 0x03, 2, 0, 0, 0, 0, 0, 0, 0x85, 1, 0x10, 9, 0])),
        "an extension header of 64 bytes": (0x34, bytes([0, 0, 0, 0x40, 16]) + bytes(63)),
    }
    for name, (flags, optional) in forms.items():
        test.say(f"{name[0].upper()}{name[1:]}.")
        test.through(N3, ip / gtpu(255, UPLINK_TEID, optional, body, flags), N6, FROM_N6 / hop_further(packet))
    test.say(
        "Dropped: length 0, more than 64 bytes, five extension headers, version 0, GTP', not IP inside, another message."
    )
    bad = [
        (255, 0x34, bytes([0, 0, 0, 0x40, 0, 0, 0, 0])),
        (255, 0x34, bytes([0, 0, 0, 0x40, 17]) + bytes(67)),
        (255, 0x34, bytes([0, 0, 0, 0x40] + [1, 0, 0, 0x40] * 4 + [1, 0, 0, 0])),
    ]
    for message, flags, optional in bad:
        test.packet(N3, ip / gtpu(message, UPLINK_TEID, optional, body, flags))
    test.counter("drops", DROPS.index("malformed"), 3)
    test.packet(N3, ip / gtpu(255, UPLINK_TEID, b"", body, 0x10))
    test.packet(N3, ip / gtpu(255, UPLINK_TEID, b"", body, 0x20))
    test.counter("drops", DROPS.index("not_gtpu"), 2)
    test.packet(N3, ip / gtpu(255, UPLINK_TEID, b"", b"\x00" * 40))
    test.counter("drops", DROPS.index("not_ip"), 1)
    test.packet(N3, ip / gtpu(200, UPLINK_TEID, b"", b""))
    test.counter("drops", DROPS.index("type"), 1)
    test.packet(N3, bytes(uplink(packet))[:60])
    test.packet(N3, bytes(uplink(packet))[:90])
    test.counter("drops", DROPS.index("malformed"), 5)
    return test


def answered(source, destination, sport, dport, body):
    """An answer of the UPF over IPv4 or IPv6."""
    ip = outer(destination, source)
    udp = UDP(sport=sport, dport=dport)
    if ":" not in source:
        ip.id, ip.flags = 0, "DF"
        udp.chksum = 0
    return FROM_N3 / ip / udp / body


def path_management():
    test = setup(
        "upf_path.stf", "Messages that the data plane answers: Echo Request, unknown TEIDs, unknown extension headers."
    )
    packet = USER["UDP"]
    for source, destination in ((GNB, UPF_N3), (GNB_V6, UPF_N3_V6)):
        ip = ON_N3 / outer(source, destination)
        test.say(
            f"Echo Request from {source}: the answer goes to the port from which it came, with its sequence number."
        )
        for sport, flags, optional, body in (
            (2152, 0x32, b"\x12\x34\0\0", b""),
            (40000, 0x32, b"\x43\x21\0\0", b"\xff\x00\x05\x00\x00abc"),
            (2152, 0x30, b"", b""),
        ):
            request = ip / UDP(sport=sport, dport=2152) / gtpu(1, 0, optional, body, flags)
            sequence = optional[:2] or b"\0\0"
            response = gtpu(2, 0, sequence + b"\0\0", bytes([14, 0]), 0x32)
            test.through(N3, request, N3, answered(source, destination, 2152, sport, response))
        test.say("Unknown TEID: Error Indication with TEID and address.")
        request = uplink(packet, teid=0xDEAD, ip=outer(source, destination))
        address = (
            bytes(outer(source, destination))[16:20] if ":" not in source else bytes(outer(source, destination))[24:40]
        )
        elements = b"\x10\0\0\xde\xad" + b"\x85" + len(address).to_bytes(2, "big") + address
        response = gtpu(26, 0, b"\0\0\0\0", elements, 0x32)
        test.through(N3, request, N3, answered(source, destination, 2152, 2152, response))
        test.say("An extension header that must be understood and is not: Supported Extension Headers Notification.")
        request = (
            ip
            / UDP(sport=2152, dport=2152)
            / gtpu(255, UPLINK_TEID, bytes([0, 0, 0, 0xC0, 1, 0, 1, 0]), bytes(packet), 0x34)
        )
        response = gtpu(31, 0, b"\0\0\0\0", bytes([141, 1, 0x85]), 0x32)
        test.through(N3, request, N3, answered(source, destination, 2152, 2152, response))
    test.counter("drops", DROPS.index("session"), 2)
    test.counter("drops", DROPS.index("extension"), 2)
    test.counter("messages", 1, 6)
    test.say("ARP and pings to the address of the UPF.")
    request = ARP(op=1, hwsrc=GNB_MAC, psrc=GNB, hwdst="00:00:00:00:00:00", pdst=UPF_N3)
    reply = ARP(op=2, hwsrc=UPF_N3_MAC, psrc=UPF_N3, hwdst=GNB_MAC, pdst=GNB)
    pad = Raw(bytes(18))
    test.through(N3, Ether(src=GNB_MAC, dst="ff:ff:ff:ff:ff:ff") / request / pad, N3, FROM_N3 / reply / pad)
    test.packet(
        N3, Ether(src=GNB_MAC, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=GNB_MAC, psrc=GNB, pdst="192.168.3.77") / pad
    )
    ping = ON_N3 / IP(src=GNB, dst=UPF_N3, ttl=9, id=5) / ICMP(type=8, id=1, seq=2) / DATA
    test.through(N3, ping, N3, FROM_N3 / IP(src=UPF_N3, dst=GNB, ttl=64, id=5) / ICMP(type=0, id=1, seq=2) / DATA)
    data = bytes(range(len(DATA.load)))
    ping_ipv6 = ON_N3 / IPv6(src=GNB_V6, dst=UPF_N3_V6, hlim=9) / ICMPv6EchoRequest(id=1, seq=2, data=data)
    pong = FROM_N3 / IPv6(src=UPF_N3_V6, dst=GNB_V6, hlim=64) / ICMPv6EchoReply(id=1, seq=2, data=data)
    test.through(N3, ping_ipv6, N3, pong)
    test.say("As long as a neighbour solicitation; of another code: not answered.")
    short = {"id": 3, "seq": 4, "data": bytes(24)}
    pong = FROM_N3 / IPv6(src=UPF_N3_V6, dst=GNB_V6) / ICMPv6EchoReply(**short)
    test.through(N3, ON_N3 / IPv6(src=GNB_V6, dst=UPF_N3_V6) / ICMPv6EchoRequest(**short), N3, pong)
    test.packet(N3, ON_N3 / IPv6(src=GNB_V6, dst=UPF_N3_V6) / ICMPv6EchoRequest(code=1))
    test.counter("drops", DROPS.index("not_gtpu"), 1)
    test.say("Frames to groups of stations: neither answered nor forwarded.")
    for frame in (ping, ping_ipv6, uplink(packet), uplink(packet, ip=outer(GNB_V6, UPF_N3_V6))):
        frame = Ether(bytes(frame))
        frame.dst = "ff:ff:ff:ff:ff:ff"
        test.packet(N3, frame)
    test.counter("drops", DROPS.index("group"), 4)
    neighbours(test)
    return test


def neighbours(test):
    """Neighbour discovery for the UPF's own addresses."""
    test.say("A neighbour solicitation for the address of the UPF, to its group and to itself.")
    source = ICMPv6NDOptSrcLLAddr(lladdr=GNB_MAC)
    advertisement = IPv6(src=UPF_N3_V6, dst=GNB_V6, hlim=255) / ICMPv6ND_NA(tgt=UPF_N3_V6, R=0, S=1, O=1)
    answer = FROM_N3 / advertisement / ICMPv6NDOptDstLLAddr(lladdr=UPF_N3_MAC)
    group = Ether(src=GNB_MAC, dst="33:33:ff:00:00:01") / IPv6(src=GNB_V6, dst="ff02::1:ff00:1", hlim=255)
    itself = ON_N3 / IPv6(src=GNB_V6, dst=UPF_N3_V6, hlim=255)
    for to in (group, itself):
        test.through(N3, to / ICMPv6ND_NS(tgt=UPF_N3_V6) / source, N3, answer)
    test.say("Not answered: one for another address, from beyond the link, for duplicate address detection, with another option.")
    test.packet(N3, group / ICMPv6ND_NS(tgt="2001:db8:3::77") / source)
    for changes in ({"hlim": 254}, {"src": "::"}):
        other = group.copy()
        for field, value in changes.items():
            setattr(other[IPv6], field, value)
        test.packet(N3, other / ICMPv6ND_NS(tgt=UPF_N3_V6) / source)
    test.packet(N3, group / ICMPv6ND_NS(tgt=UPF_N3_V6))
    nonce = ICMPv6NDOptUnknown(type=14, len=1, data=bytes(range(6)))
    test.packet(N3, group / ICMPv6ND_NS(tgt=UPF_N3_V6) / nonce)
    test.counter("drops", DROPS.index("group"), 9)
    test.say("One that ends early is malformed.")
    test.packet(N3, bytes(group / ICMPv6ND_NS(tgt=UPF_N3_V6) / source)[:80])
    test.counter("drops", DROPS.index("malformed"), 1)
    test.say("One for a UE that comes to the UPF as its router goes the way of its other packets.")
    ask = IPv6(src=SERVER_V6, dst=UE_V6, hlim=255) / ICMPv6ND_NS(tgt=UE_V6) / ICMPv6NDOptSrcLLAddr(lladdr=ROUTER_MAC)
    test.through(N6, ON_N6 / ask, N3, downlink(hop_further(ask)))


def packet_in(reason, session, port, frame, application=0):
    header = bytes([port >> 1, (port & 1) << 7, reason]) + session.to_bytes(4, "big") + application.to_bytes(2, "big")
    return header + bytes(frame)


def controller():
    session = [line for line in SESSION if not line.startswith("add fars meta.far:2")]
    test = setup(
        "upf_controller.stf",
        "Packets to the controller and from it: buffering, messages of GTP-U, end markers.",
        "add fars meta.far:2 buffer() = buffering",
        "add applications_ipv4 1 meta.rules:1 meta.protocol:6 set_application(application:515)",
        "add terminations_downlink meta.session:1 meta.application:515 "
        "forward(far:2, flow_qer:1, session_qer:2, flow_urr:1, session_urr:2, third_urr:0, fourth_urr:0, before_qos:0, closed:0)",
        session=session,
    )
    packet = turned(USER["UDP"])
    test.say("Downlink packets of an idle UE. The controller is told which application they are of.")
    test.packet(N6, ON_N6 / packet)
    test.expect(CPU, packet_in(1, 1, N6, ON_N6 / packet))
    test.packet(N6, ON_N6 / turned(USER["TCP"]))
    test.expect(CPU, packet_in(1, 1, N6, ON_N6 / turned(USER["TCP"]), 515))
    test.say("The UE is there again: what was kept is processed like a packet that comes in.")
    test.run("remove buffering", tunnel_v4(2, DOWNLINK_TEID))
    test.packet(CPU, bytes([0, 0x40]) + bytes(ON_N6 / packet))
    test.expect(N3, downlink(hop_further(packet)))
    test.say("An end marker, made by the controller, leaves as it is.")
    marker = FROM_N3 / outer(UPF_N3, GNB) / UDP(sport=2152, dport=2152) / gtpu(254, DOWNLINK_TEID)
    test.packet(CPU, bytes([N3 >> 1, (N3 & 1) << 7]) + bytes(marker))
    test.expect(N3, marker)
    test.say("The same without port and MAC addresses: it leaves by the route to its destination.")
    test.packet(CPU, bytes([0, 0x20]) + bytes(Ether(src="00:00:00:00:00:00", dst="00:00:00:00:00:00") / marker[IP]))
    test.expect(N3, marker)
    test.say("Messages of the path, and an end marker of a known tunnel.")
    ip = ON_N3 / outer() / UDP(sport=2152, dport=2152)
    for message, teid, session_number in ((2, 0, 0), (26, 0, 0), (31, 0, 0), (254, UPLINK_TEID, 1)):
        frame = ip / gtpu(message, teid, b"\0\1\0\0", b"", 0x32)
        test.packet(N3, frame)
        test.expect(CPU, packet_in(3, session_number, N3, frame))
    test.say("A router solicitation of the UE is for none of them.")
    solicitation = IPv6(src="fe80::1", dst="ff02::2", hlim=255) / ICMPv6ND_RS()
    test.packet(N3, uplink(solicitation))
    test.counter("drops", DROPS.index("solicitation"), 1)
    return test


def filters():
    test = setup(
        "upf_filters.stf",
        "Filters of applications: remote prefix, protocol, ranges of ports of both sides, QoS flow; rules without entry, that drop, that go elsewhere.",
        f"add applications_ipv4 20 meta.rules:1 meta.remote_ipv4:{number('203.0.113.0')}&&&0xffffff00 meta.protocol:17 meta.remote_port:50->60 set_application(application:7)",
        f"add applications_ipv4 30 meta.rules:1 meta.remote_ipv4:{number('203.0.113.66')} set_application(application:8)",
        f"add applications_ipv4 10 meta.rules:1 meta.remote_ipv4:{number('198.51.100.0')}&&&0xffffff00 set_application(application:9)",
        f"add applications_ipv6 10 meta.rules:1 meta.remote_ipv6:{number(SERVER_V6)} meta.remote_port:443 set_application(application:7)",
        "add terminations_uplink meta.session:1 meta.application:7 forward(far:1, flow_qer:0, session_qer:0, flow_urr:3, session_urr:0, third_urr:0, fourth_urr:0, before_qos:0, closed:0)",
        "add terminations_downlink meta.session:1 meta.application:7 forward(far:5, flow_qer:5, session_qer:0, flow_urr:3, session_urr:0, third_urr:0, fourth_urr:0, before_qos:0, closed:0)",
        "add terminations_uplink meta.session:1 meta.application:8 drop_packet()",
        "add applications_ipv4 40 meta.rules:1 meta.protocol:17 meta.local_port:7000->7009 set_application(application:700)",
        "add applications_ipv4 50 meta.rules:1 meta.qfi:7 set_application(application:701)",
        "add terminations_uplink meta.session:1 meta.application:700 forward(far:1, flow_qer:0, session_qer:0, flow_urr:4, session_urr:6, third_urr:7, fourth_urr:8, before_qos:0, closed:0)",
        "add terminations_downlink meta.session:1 meta.application:700 forward(far:5, flow_qer:5, session_qer:0, flow_urr:4, session_urr:6, third_urr:7, fourth_urr:8, before_qos:0, closed:0)",
        "add terminations_uplink meta.session:1 meta.application:701 forward(far:1, flow_qer:0, session_qer:0, flow_urr:5, session_urr:0, third_urr:0, fourth_urr:0, before_qos:0, closed:0)",
        "add qers meta.flow_qer:5 set_qer(uplink_closed:0, downlink_closed:0, qfi:2, reflective:0)",
        tunnel_v4(5, 0x5005),
    )
    for packet, teid, qfi in (
        (IP(src=UE, dst=SERVER) / UDP(sport=4000, dport=53) / DATA, 0x5005, 2),
        (IP(src=UE, dst=SERVER) / UDP(sport=4000, dport=61) / DATA, DOWNLINK_TEID, QFI),
        (IP(src=UE, dst=SERVER) / TCP(sport=4000, dport=53) / DATA, DOWNLINK_TEID, QFI),
        (IPv6(src=UE_V6, dst=SERVER_V6) / TCP(sport=4000, dport=443) / DATA, 0x5005, 2),
        (IPv6(src=UE_V6, dst=SERVER_V6) / TCP(sport=4000, dport=80) / DATA, DOWNLINK_TEID, QFI),
    ):
        test.through(N3, uplink(packet), N6, FROM_N6 / hop_further(packet))
        test.through(N6, ON_N6 / turned(packet), N3, downlink(hop_further(turned(packet)), teid, qfi))
    test.counter("uplink_usage", 3, 2)
    test.counter("downlink_usage", 3, 2)
    test.counter("uplink_usage", 1, 3)
    test.say("By the port of the UE, both ways, with four URRs, and by the QoS flow.")
    packet = IP(src=UE, dst=SERVER) / UDP(sport=7009, dport=99) / DATA
    test.through(N3, uplink(packet), N6, FROM_N6 / hop_further(packet))
    test.through(N6, ON_N6 / turned(packet), N3, downlink(hop_further(turned(packet)), 0x5005, 2))
    for urr in (4, 6, 7, 8):
        test.counter("uplink_usage", urr, 1)
        test.counter("downlink_usage", urr, 1)
        test.run(f"register_read uplink_bytes {urr}")
    test.through(N3, uplink(packet, qfi=7), N6, FROM_N6 / hop_further(packet))
    test.counter("uplink_usage", 5, 1)
    test.say("Ports behind options of IPv4, both ways: the application of the port of the UE.")
    packet = IP(src=UE, dst=SERVER, options=[IPOption_NOP()] * 4) / UDP(sport=7009, dport=99) / DATA
    test.through(N3, uplink(packet), N6, FROM_N6 / hop_further(packet))
    test.through(N6, ON_N6 / turned(packet), N3, downlink(hop_further(turned(packet)), 0x5005, 2))
    test.counter("uplink_usage", 4, 2)
    test.counter("downlink_usage", 4, 2)
    test.say("Ports behind IPv6 extension headers, both ways: up to four, of up to 256 bytes each.")
    hops, options = IPv6ExtHdrHopByHop(), IPv6ExtHdrDestOpt()
    long = IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(252))])
    longer = IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(253))])
    four = hops / options / IPv6ExtHdrRouting(type=2, addresses=[SERVER_V6], segleft=0) / long
    to_server = TCP(sport=4000, dport=443) / DATA
    for behind, teid, qfi in (
        (options / to_server, 0x5005, 2),
        (four / to_server, 0x5005, 2),
        (hops / TCP(sport=4000, dport=80) / DATA, DOWNLINK_TEID, QFI),
        (four / options / to_server, DOWNLINK_TEID, QFI),
        (longer / to_server, DOWNLINK_TEID, QFI),
        (hops / ICMPv6EchoRequest(data=bytes(8)), DOWNLINK_TEID, QFI),
    ):
        packet = IPv6(bytes(IPv6(src=UE_V6, dst=SERVER_V6) / behind))
        test.through(N3, uplink(packet), N6, FROM_N6 / hop_further(packet))
        test.through(N6, ON_N6 / turned(packet), N3, downlink(hop_further(turned(packet)), teid, qfi))
    test.counter("uplink_usage", 3, 4)
    test.counter("downlink_usage", 3, 4)
    test.say("From another UPF to the UE: the sender is the remote end. From the UE to another UPF: the receiver.")
    test.run(
        "add sessions_uplink hdr.gtpu.teid:0x9001 uplink_session(session:9, rules:1, ue_ipv4:0, ue_prefix:0, to_ue:1)",
        "add terminations_uplink meta.session:9 meta.application:7 forward(far:5, flow_qer:5, session_qer:0, flow_urr:9, session_urr:0, "
        "third_urr:0, fourth_urr:0, before_qos:0, closed:0)",
        "add terminations_uplink meta.session:9 meta.application:700 forward(far:5, flow_qer:5, session_qer:0, flow_urr:10, session_urr:0, "
        "third_urr:0, fourth_urr:0, before_qos:0, closed:0)",
    )
    for sent, urr in (
        (IP(src=SERVER, dst=UE) / UDP(sport=53, dport=4000) / DATA, 9),
        (IPv6(src=SERVER_V6, dst=UE_V6) / TCP(sport=443, dport=4000) / DATA, 9),
        (IP(src=SERVER, dst=UE) / UDP(sport=99, dport=7009) / DATA, 10),
    ):
        test.through(N3, uplink(sent, 0x9001), N3, downlink(sent, 0x5005, 2))
        test.run(f"register_read uplink_bytes {urr}")
    test.counter("uplink_usage", 9, 2)
    test.counter("uplink_usage", 10, 1)
    test.say("A tunnel of the user itself is in no QoS flow of this UPF.")
    own = Raw(bytes(GTP_U_Header(teid=1, E=1, next_ex=0x85) / container(1, 7) / packet))
    packet = IP(src=SERVER, dst=UE) / UDP(sport=99, dport=2152) / own
    test.through(N6, ON_N6 / packet, N3, downlink(hop_further(packet)))
    test.say("A rule that drops, and an application without a rule.")
    test.packet(N3, uplink(IP(src=UE, dst="203.0.113.66") / UDP(sport=1, dport=55) / DATA))
    test.packet(N3, uplink(IP(src=UE, dst="198.51.100.1") / UDP(sport=1, dport=55) / DATA))
    test.counter("drops", DROPS.index("termination"), 1)
    test.counter("drops", DROPS.index("no_termination"), 1)
    return test


def enforcement():
    session = [line for line in SESSION if "add qers" not in line]
    for way in ("uplink", "downlink"):
        session = [f"{line} = {way}_pdr" if f"add terminations_{way} " in line else line for line in session]
    test = setup(
        "upf_enforcement.stf",
        "Gates, rates, spoofed addresses, TTL, MTU, routes, FARs that drop.",
        f"add qers meta.flow_qer:1 set_qer(uplink_closed:1, downlink_closed:0, qfi:{QFI}, reflective:0) = closed",
        session=session,
    )
    packet = USER["UDP"]
    test.say("The uplink gate is closed, the downlink one is open.")
    test.packet(N3, uplink(packet))
    test.through(N6, ON_N6 / turned(packet), N3, downlink(hop_further(turned(packet))))
    test.counter("drops", DROPS.index("gate"), 1)
    test.run(
        "remove closed",
        f"add qers meta.flow_qer:1 set_qer(uplink_closed:0, downlink_closed:1, qfi:{QFI}, reflective:0) = closed",
    )
    test.packet(N6, ON_N6 / turned(packet))
    test.through(N3, uplink(packet), N6, FROM_N6 / hop_further(packet))
    test.counter("drops", DROPS.index("gate"), 2)
    test.run(
        "remove closed",
        f"add qers meta.flow_qer:1 set_qer(uplink_closed:0, downlink_closed:0, qfi:{QFI}, reflective:0)",
    )
    test.say("A rate of the flow, and one of the session: a burst of 400 bytes holds two packets.")
    rate = "0.000001:400 0.000001:400"
    test.run(f"meter_set_rates uplink_rates 1 {rate}", f"meter_set_rates downlink_rates 2 {rate}")
    test.through(N3, uplink(packet), N6, FROM_N6 / hop_further(packet))
    test.through(N3, uplink(packet), N6, FROM_N6 / hop_further(packet))
    test.packet(N3, uplink(packet))
    test.counter("drops", DROPS.index("rate"), 1)
    test.say("Packets that are dropped are not counted as usage.")
    test.counter("uplink_usage", 1, 3)
    for _ in range(3):
        test.through(N6, ON_N6 / turned(packet), N3, downlink(hop_further(turned(packet))))
    test.packet(N6, ON_N6 / turned(packet))
    test.counter("drops", DROPS.index("rate"), 2)
    test.counter("downlink_usage", 2, 4)
    test.say("URRs that measure before QoS count them: the first and the third of four, both ways.")
    for way in ("uplink", "downlink"):
        test.run(
            f"remove {way}_pdr",
            f"add terminations_{way} meta.session:1 meta.application:0 forward(far:{1 if way == 'uplink' else 2}, flow_qer:1, session_qer:2, "
            f"flow_urr:11, session_urr:12, third_urr:13, fourth_urr:14, before_qos:5, closed:0) = {way}_pdr",
        )
    test.packet(N3, uplink(packet))
    test.packet(N6, ON_N6 / turned(packet))
    test.counter("drops", DROPS.index("rate"), 4)
    for urr, packets in ((11, 1), (12, 0), (13, 1), (14, 0)):
        test.counter("uplink_usage", urr, packets)
        test.counter("downlink_usage", urr, packets)
    test.run(
        "meter_set_rates uplink_rates 1 1000:100000 1000:100000",
        "meter_set_rates downlink_rates 2 1000:100000 1000:100000",
    )
    test.say("Packets that pass are counted by all four.")
    test.through(N3, uplink(packet), N6, FROM_N6 / hop_further(packet))
    for urr, packets in ((11, 2), (12, 1), (13, 2), (14, 1)):
        test.counter("uplink_usage", urr, packets)
    test.say("The gate of the second QER.")
    test.run(
        "remove uplink_pdr",
        "add terminations_uplink meta.session:1 meta.application:0 forward(far:1, flow_qer:1, session_qer:2, flow_urr:11, session_urr:12, "
        "third_urr:0, fourth_urr:0, before_qos:2, closed:1) = uplink_pdr",
    )
    test.packet(N3, uplink(packet))
    test.counter("drops", DROPS.index("gate"), 3)
    test.counter("uplink_usage", 11, 2)
    test.counter("uplink_usage", 12, 2)
    test.run(
        "remove uplink_pdr",
        "add terminations_uplink meta.session:1 meta.application:0 forward(far:1, flow_qer:1, session_qer:2, flow_urr:1, session_urr:2, "
        "third_urr:0, fourth_urr:0, before_qos:0, closed:0)",
    )
    test.say("Source addresses of another UE.")
    test.packet(N3, uplink(IP(src="10.45.0.9", dst=SERVER) / UDP(sport=1, dport=2) / DATA))
    test.packet(N3, uplink(IPv6(src="2001:db8:46::2", dst=SERVER_V6) / UDP(sport=1, dport=2) / DATA))
    test.counter("drops", DROPS.index("spoofed"), 2)
    test.say("TTL 1, both ways.")
    test.packet(N3, uplink(IP(src=UE, dst=SERVER, ttl=1) / UDP(sport=1, dport=2) / DATA))
    test.packet(N6, ON_N6 / IPv6(src=SERVER_V6, dst=UE_V6, hlim=1) / UDP(sport=1, dport=2) / DATA)
    test.counter("drops", DROPS.index("ttl"), 2)
    test.say("The MTU of N3 is 1600: a packet of 1556 bytes just fits into the tunnel.")
    fits = IP(src=SERVER, dst=UE) / UDP(sport=1, dport=2) / Raw(bytes(1556 - 28))
    test.through(N6, ON_N6 / fits, N3, downlink(hop_further(fits)))
    test.packet(N6, ON_N6 / IP(src=SERVER, dst=UE) / UDP(sport=1, dport=2) / Raw(bytes(1557 - 28)))
    test.counter("drops", DROPS.index("long"), 1)
    test.say("No session for the UE; a wrong checksum; not IP; a fragment of the tunnel.")
    test.packet(N6, ON_N6 / IP(src=SERVER, dst="10.45.0.77") / UDP(sport=1, dport=2) / DATA)
    test.counter("drops", DROPS.index("session"), 1)
    wrong = bytearray(bytes(ON_N6 / turned(packet)))
    wrong[24] ^= 1
    test.packet(N6, bytes(wrong))
    test.counter("drops", DROPS.index("malformed"), 1)
    test.packet(N6, Ether(src=ROUTER_MAC, dst=UPF_N6_MAC, type=0x88CC) / Raw(bytes(50)))
    test.counter("drops", DROPS.index("not_ip"), 1)
    test.packet(N3, ON_N3 / IP(src=GNB, dst=UPF_N3, flags="MF", proto=17) / Raw(bytes(64)))
    test.counter("drops", DROPS.index("fragment"), 1)
    test.say("An IP packet that is longer than its frame.")
    test.packet(N6, bytes(ON_N6 / turned(packet))[:-4])
    test.counter("drops", DROPS.index("malformed"), 2)
    return test


def malformed():
    test = setup("upf_malformed.stf", "Packets whose lengths do not agree: of the user, of the tunnel, of the user in the tunnel.")
    wrong = network_ipv4(SERVER, UE) | transport_ipv4(SERVER, UE)
    wrong |= network_ipv6(SERVER_V6, UE_V6) | transport_ipv6(SERVER_V6, UE_V6)
    # The UPF reads no more of TCP than the ports that filters name, and of ICMPv6 the type.
    for what in wrong.copy():
        if "TCP" in what or "echo" in what:
            del wrong[what]
    for what, packet in wrong.items():
        test.say(f"{what[0].upper()}{what[1:]}.")
        ether_type = 0x86DD if IPv6 in packet else 0x800
        test.packet(N6, bytes(ON_N6)[:12] + ether_type.to_bytes(2, "big") + bytes(packet))
    test.counter("drops", DROPS.index("malformed"), len(wrong))
    test.say("An extension header of IPv6 that ends behind the packet, one before TCP that does, in the tunnel, too.")
    behind = []
    for segment in (IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(60))]) / DATA, IPv6ExtHdrDestOpt() / TCP() / DATA):
        packet = IPv6(bytes(IPv6(src=UE_V6, dst=SERVER_V6) / segment))
        packet.plen = 12
        behind += [(N6, ON_N6 / turned(packet)), (N3, uplink(packet))]
    for port, frame in behind:
        test.packet(port, frame)
    test.counter("drops", DROPS.index("malformed"), len(wrong) + len(behind))
    inner = USER["UDP"]
    right = bytes(uplink(inner))
    # Ethernet, IPv4, UDP: GTP-U begins at byte 42, its length at 44, the packet of the user at 58.
    lengths = {
        "GTP-U: no byte": (44, 0),
        "GTP-U: a byte too few": (44, 8 + len(inner) - 1),
        "GTP-U: a byte too many": (44, 8 + len(inner) + 1),
        "UDP that ends in GTP-U": (38, 8 + 4),
        "the packet in the tunnel is longer than the tunnel": (60, len(inner) + 1),
        "the packet in the tunnel is shorter than its header": (60, 19),
    }
    for what, (at, value) in lengths.items():
        test.say(f"In the tunnel: {what}.")
        test.packet(N3, right[:at] + value.to_bytes(2, "big") + right[at + 2 :])
    test.say("In the tunnel: UDP that ends before GTP-U, whose length is as much too great.")
    test.packet(N3, right[:38] + b"\0\x08" + right[40:44] + b"\xff\xf8" + right[46:])
    test.counter("drops", DROPS.index("malformed"), len(wrong) + len(behind) + len(lengths) + 1)
    test.say("With right lengths it passes.")
    test.through(N3, right, N6, FROM_N6 / hop_further(inner))
    return test


TESTS = [sessions, tunnels, headers, path_management, controller, filters, enforcement, malformed]

if __name__ == "__main__":
    sys.exit(write([make() for make in TESTS]))
