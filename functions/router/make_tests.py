#!/usr/bin/env python3
"""Writes the STF tests of router.p4, with scapy and zlib's CRC-32.

    make_tests.py [--check]

Needs scapy from PyPI.
"""

import ipaddress
import pathlib
import struct
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import with_scapy  # noqa: F401
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from stf import Test, write
from wrong import network_ipv4, network_ipv6

SLOTS = 8
# Port 1 towards the client, ports 2 and 3 onwards; the host's ports are 100 more.
MAC = {port: f"02:00:00:00:0{port}:01" for port in (1, 2, 3)}
PEER = {port: f"02:00:00:00:0{port}:02" for port in (1, 2, 3)}
CLIENT, CLIENT_V6 = "10.1.0.5", "2001:db8:1::5"
DATA = Raw(bytes(range(40)))
FORWARDED, TO_HOST, FROM_HOST, MALFORMED, NO_PORT, OTHER_STATION, MARTIAN, ROUTE, HOST_RATE, NOT_IP = range(10)


def number(address):
    return "0x" + ipaddress.ip_address(address).packed.hex()


def mac(address):
    return "0x" + address.replace(":", "")


def route(prefix, action):
    network = ipaddress.ip_network(prefix)
    version = network.version
    return f"add routes_ipv{version} hdr.ipv{version}.dst_addr:{number(str(network.network_address))}/{network.prefixlen} {action}"


def setup(name, about, *commands, options=""):
    test = Test(HERE / name, about, options)
    for port in MAC:
        test.run(
            f"add interfaces standard_metadata.ingress_port:{port} set_interface(mac:{mac(MAC[port])}, host_port:{100 + port})",
            f"add host_ports standard_metadata.ingress_port:{100 + port} from_host(port:{port})",
            f"add next_hops meta.next_hop:{port} to_port(port:{port}, src_mac:{mac(MAC[port])}, dst_mac:{mac(PEER[port])}, mtu:1500)",
        )
    test.run(*commands)
    return test


def came(port, packet, **fields):
    return Ether(**{"src": PEER[port], "dst": MAC[port], **fields}) / packet


def left(port, packet):
    packet = packet.copy()
    if IP in packet:
        packet.ttl -= 1
    else:
        packet.hlim -= 1
    return Ether(src=MAC[port], dst=PEER[port]) / packet


def routed(test, port_in, packet, port_out):
    test.through(port_in, came(port_in, packet), port_out, left(port_out, packet))


def to_host(test, port, frame):
    """The kernel gets the frame as it came, on the interface of its port."""
    test.through(port, frame, 100 + port)


def packets(destination):
    kind, source = (IPv6, CLIENT_V6) if ":" in destination else (IP, CLIENT)
    echo = ICMPv6EchoRequest() if kind is IPv6 else ICMP()
    base = kind(src=source, dst=destination)
    yield from (base / UDP(sport=1, dport=2) / DATA, base / TCP(sport=1, dport=2) / DATA, base / echo / DATA)


def prefixes():
    test = setup(
        "router_prefixes.stf",
        "The longest prefix counts, for IPv4 and IPv6; hosts, defaults, and prefixes of every sort of length.",
        route("0.0.0.0/0", "to_next_hop(next_hop:3)"),
        route("10.2.0.0/16", "to_next_hop(next_hop:2)"),
        route("10.2.128.0/17", "to_next_hop(next_hop:3)"),
        route("10.2.200.7/32", "to_next_hop(next_hop:2)"),
        route("2001:db8::/32", "to_next_hop(next_hop:3)"),
        route("2001:db8:2::/48", "to_next_hop(next_hop:2)"),
        route("2001:db8:2:8000::/49", "to_next_hop(next_hop:3)"),
        route("2001:db8:2:8000::7/128", "to_next_hop(next_hop:2)"),
    )
    ways = {
        "10.2.0.1": 2,
        "10.2.127.255": 2,
        "10.2.128.0": 3,
        "10.2.200.7": 2,
        "10.2.200.8": 3,
        "198.51.100.1": 3,
        "2001:db8:2::1": 2,
        "2001:db8:2:7fff::1": 2,
        "2001:db8:2:8000::1": 3,
        "2001:db8:2:8000::7": 2,
        "2001:db8:3::1": 3,
    }
    for destination, port in ways.items():
        test.say(f"{destination} by port {port}.")
        for packet in packets(destination):
            routed(test, 1, packet, port)
    test.counter("packets", FORWARDED, 3 * len(ways))
    test.say("Fragments are routed; DSCP, ECN and flow label stay.")
    routed(test, 1, IP(src=CLIENT, dst="10.2.0.1", flags="MF", tos=0xBB, proto=17) / DATA, 2)
    routed(test, 1, IPv6(src=CLIENT_V6, dst="2001:db8:2::1", tc=0xBB, fl=0x12345) / UDP(sport=1, dport=2) / DATA, 2)
    test.say("Padding of Ethernet stays behind the packet.")
    short = IP(src=CLIENT, dst="10.2.0.1") / UDP(sport=1, dport=2) / Raw(b"x")
    test.through(1, bytes(came(1, short)) + bytes(17), 2, bytes(left(2, short)) + bytes(17))
    return test


def exceptions():
    test = setup(
        "router_exceptions.stf",
        "What the kernel does: its addresses, ARP, groups, TTL, MTU, options, unknown neighbours, destinations without a route.",
        route("10.1.0.1/32", "to_host()"),
        route("10.2.0.0/16", "to_next_hop(next_hop:2)"),
        route("10.3.0.0/16", "to_next_hop(next_hop:33)"),
        route("10.4.0.0/16", "discard()"),
        route("2001:db8:1::1/128", "to_host()"),
        route("2001:db8:2::/48", "to_next_hop(next_hop:2)"),
    )
    base, base_v6 = IP(src=CLIENT, dst="10.2.0.1"), IPv6(src=CLIENT_V6, dst="2001:db8:2::1")
    cases = {
        "Addresses of the router": [
            IP(src=CLIENT, dst="10.1.0.1") / ICMP(),
            IPv6(src=CLIENT_V6, dst="2001:db8:1::1") / ICMPv6EchoRequest(),
        ],
        "TTL": [
            IP(src=CLIENT, dst="10.2.0.1", ttl=1) / UDP(),
            IPv6(src=CLIENT_V6, dst="2001:db8:2::1", hlim=1) / UDP(),
        ],
        "Longer than the MTU": [base / UDP() / Raw(bytes(1473)), base_v6 / UDP() / Raw(bytes(1453))],
        "Options": [
            IP(src=CLIENT, dst="10.2.0.1", options=[IPOption_NOP()] * 4) / UDP(),
            base_v6 / IPv6ExtHdrHopByHop() / UDP(),
        ],
        "Unknown neighbour": [IP(src=CLIENT, dst="10.3.0.1") / UDP()],
        "No route": [IP(src=CLIENT, dst="172.16.0.1") / UDP(), IPv6(src=CLIENT_V6, dst="2001:db8:77::1") / UDP()],
        "Link-local addresses": [
            IPv6(src="fe80::5", dst="2001:db8:2::1") / UDP(),
            IPv6(src=CLIENT_V6, dst="fe80::1") / UDP(),
        ],
        "Multicast to the own MAC address": [
            IP(src=CLIENT, dst="224.0.0.5") / UDP(),
            IPv6(src=CLIENT_V6, dst="ff02::5") / UDP(),
        ],
    }
    for name, cases_packets in cases.items():
        test.say(f"{name}.")
        for packet in cases_packets:
            to_host(test, 1, came(1, packet))
    test.say("It just fits.")
    routed(test, 1, base / UDP() / Raw(bytes(1472)), 2)
    routed(test, 1, base_v6 / UDP() / Raw(bytes(1452)), 2)
    test.say("ARP, by broadcast and to the router; OSPF and neighbour discovery by groups.")
    pad = Raw(bytes(18))
    to_host(
        test,
        1,
        came(
            1,
            ARP(op=1, hwsrc=PEER[1], hwdst="00:00:00:00:00:00", psrc=CLIENT, pdst="10.1.0.1") / pad,
            dst="ff:ff:ff:ff:ff:ff",
        ),
    )
    to_host(test, 2, came(2, ARP(op=2, hwsrc=PEER[2], hwdst=MAC[2], psrc="10.2.0.1", pdst="10.2.0.254") / pad))
    to_host(test, 1, came(1, IP(src=CLIENT, dst="224.0.0.5", proto=89, ttl=1) / DATA, dst="01:00:5e:00:00:05"))
    to_host(
        test,
        1,
        came(1, IPv6(src="fe80::5", dst="ff02::1:ff00:1", hlim=255) / ICMPv6EchoRequest(), dst="33:33:ff:00:00:01"),
    )
    test.say("What the kernel sends leaves as it is.")
    for port in MAC:
        test.through(
            100 + port, Ether(src=MAC[port], dst=PEER[port]) / IP(src="10.1.0.1", dst="10.9.0.1", ttl=1) / UDP(), port
        )
    test.counter("packets", FROM_HOST, 3)
    test.say("A route that discards.")
    test.packet(1, came(1, IP(src=CLIENT, dst="10.4.0.1") / UDP()))
    test.counter("packets", ROUTE, 1)
    return test


def drops():
    test = setup(
        "router_drops.stf",
        "What is dropped: other stations, martians, wrong checksums, unknown ports, other protocols, more than the kernel may get.",
        route("0.0.0.0/0", "to_next_hop(next_hop:2)"),
        route("::/0", "to_next_hop(next_hop:2)"),
    )
    test.packet(1, came(1, IP(src=CLIENT, dst="10.2.0.1") / UDP(), dst="02:00:00:00:00:99"))
    test.counter("packets", OTHER_STATION, 1)
    martians = [("0.0.0.0", "10.2.0.1"), ("127.0.0.1", "10.2.0.1"), ("224.0.0.1", "10.2.0.1"), ("255.255.255.255", "10.2.0.1"),
                (CLIENT, "127.0.0.1"), (CLIENT, "0.1.2.3"), ("169.254.7.7", "10.2.0.1"), (CLIENT, "169.254.7.7")]  # fmt: skip
    for source, destination in martians:
        test.packet(1, came(1, IP(src=source, dst=destination) / UDP()))
    martians_v6 = [
        ("::", "2001:db8:2::1"),
        ("::1", "2001:db8:2::1"),
        ("ff02::1", "2001:db8:2::1"),
        (CLIENT_V6, "::1"),
        (CLIENT_V6, "::"),
    ]
    for source, destination in martians_v6:
        test.packet(1, came(1, IPv6(src=source, dst=destination) / UDP()))
    test.counter("packets", MARTIAN, len(martians) + len(martians_v6))
    wrong = bytearray(bytes(came(1, IP(src=CLIENT, dst="10.2.0.1") / UDP())))
    wrong[24] ^= 1
    test.packet(1, bytes(wrong))
    wrong[24] ^= 1
    wrong[14] = 0x44
    test.packet(1, bytes(wrong))
    test.packet(1, bytes(came(1, IP(src=CLIENT, dst="10.2.0.1") / UDP()))[:30])
    wrong_packets = network_ipv4(CLIENT, "10.2.0.1")
    # The kernel verifies packets with options.
    del wrong_packets["a wrong checksum of a header with options"]
    wrong_packets |= network_ipv6(CLIENT_V6, "2001:db8:2::1")
    for what, packet in wrong_packets.items():
        test.say(f"Malformed: {what}.")
        test.packet(1, came(1, packet, type=0x86DD if IPv6 in packet else 0x800))
    test.counter("packets", MALFORMED, 3 + len(wrong_packets))
    test.packet(9, came(1, IP(src=CLIENT, dst="10.2.0.1") / UDP()))
    test.counter("packets", NO_PORT, 1)
    test.packet(1, came(1, Raw(bytes(46)), type=0x88CC))
    test.counter("packets", NOT_IP, 1)
    test.say("A rate of what the kernel is given: a burst of two.")
    test.run("meter_set_rates to_host_rate 0 0.000000001:2 0.000000001:2")
    frame = came(1, IP(src=CLIENT, dst="10.2.0.1", ttl=1) / UDP())
    to_host(test, 1, frame)
    to_host(test, 1, frame)
    test.packet(1, frame)
    test.counter("packets", HOST_RATE, 1)
    return test


def slot_of(source, destination, protocol, source_port, destination_port, label=0):
    packed = ipaddress.ip_address(source).packed + ipaddress.ip_address(destination).packed
    if len(packed) == 8:
        data = packed + struct.pack("!BHH", protocol, source_port, destination_port)
    else:
        # 20 bits of flow label between protocol and ports: the whole is padded at its end to bytes.
        bits = (protocol << 52 | label << 32 | source_port << 16 | destination_port) << 4
        data = packed + bits.to_bytes(8, "big")
    return zlib.crc32(data) % SLOTS


def ecmp():
    ways = [2, 3, 2, 3, 3, 2, 2, 3]
    test = setup(
        "router_ecmp.stf",
        "ECMP: a flow takes the way of its slot; when a way goes, the flows of the other stay.",
        route("10.9.0.0/16", "to_group(group:7)"),
        route("2001:db8:9::/48", "to_group(group:7)"),
        *[f"add ecmp meta.group:7 slot:{slot} to_next_hop(next_hop:{way}) = s{slot}" for slot, way in enumerate(ways)],
        options=f"-D ECMP_SLOTS={SLOTS}",
    )
    flows = [IP(src=CLIENT, dst=f"10.9.0.{last}") / UDP(sport=5000 + last, dport=53) / DATA for last in range(1, 13)]

    def flow_slot(packet):
        return slot_of(packet.src, packet.dst, 17, packet[UDP].sport, packet[UDP].dport)

    for packet in flows:
        routed(test, 1, packet, ways[flow_slot(packet)])
    test.say("IPv6: the flow label, too.")
    for label in range(6):
        packet = IPv6(src=CLIENT_V6, dst="2001:db8:9::1", fl=label) / UDP(sport=5000, dport=53) / DATA
        routed(test, 1, packet, ways[slot_of(CLIENT_V6, "2001:db8:9::1", 17, 5000, 53, label)])
    test.say("ICMP and fragments: addresses alone.")
    ping = IP(src=CLIENT, dst="10.9.0.1") / ICMP()
    routed(test, 1, ping, ways[slot_of(CLIENT, "10.9.0.1", 1, 0, 0)])
    fragment = IP(src=CLIENT, dst="10.9.0.2", flags="MF", proto=17) / DATA
    routed(test, 1, fragment, ways[slot_of(CLIENT, "10.9.0.2", 17, 0, 0)])
    test.say("Way 3 goes: its slots go to way 2.")
    test.run(*[f"remove s{slot}" for slot, way in enumerate(ways) if way == 3])
    test.run(
        *[f"add ecmp meta.group:7 slot:{slot} to_next_hop(next_hop:2)" for slot, way in enumerate(ways) if way == 3]
    )
    for packet in flows:
        routed(test, 1, packet, 2)
    return test


TESTS = [prefixes, exceptions, drops, ecmp]

if __name__ == "__main__":
    sys.exit(write([make() for make in TESTS]))
