#!/usr/bin/env python3
"""Writes the STF tests of load_balancer.p4. The packets are made by scapy, the slots of connections by zlib's CRC-32.

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
from checksum import dynamic_port
from maglev import table as maglev_table
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    ICMPv6PacketTooBig,
    ICMPv6ParamProblem,
    ICMPv6TimeExceeded,
    IPv6,
)
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from stf import Test, write
from wrong import ADDRESSES_IPV4, ADDRESSES_IPV6, network_ipv4, network_ipv6, transport_ipv4, transport_ipv6

CLIENTS, SERVERS = 1, 2
SLOTS = 7
VIP, VIP_V6, CLIENT, CLIENT_V6 = "198.51.100.10", "2001:db8:100::10", "192.0.2.7", "2001:db8:2::7"
LB, LB_V6 = "10.1.0.1", "2001:db8:1::1"
LB_MAC, ROUTER_MAC, BACKEND_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"
DATA = Raw(bytes(range(32)))
DROPS = "malformed route backend ttl long fragment not_ip address service station".split()
NEW, KNOWN, MOVED, NO_PLACE, PINNED = range(5)

IN = Ether(src=ROUTER_MAC, dst=LB_MAC)
OUT = Ether(src=LB_MAC, dst=BACKEND_MAC)
BACK_IN = Ether(src=BACKEND_MAC, dst=LB_MAC)
BACK_OUT = Ether(src=LB_MAC, dst=ROUTER_MAC)
NOT_IP = Ether(src=ROUTER_MAC, dst=LB_MAC, type=0x88CC) / Raw(bytes(46))


def number(address):
    return "0x" + ipaddress.ip_address(address).packed.hex()


def mapped(address):
    """As a field for both: IPv4 addresses are mapped ones."""
    packed = ipaddress.ip_address(address).packed
    return "0x" + (packed if len(packed) == 16 else bytes(10) + b"\xff\xff" + packed).hex()


def mac(address):
    return "0x" + address.replace(":", "")


HOPS = [
    f"add next_hops meta.next_hop:1 to_port(port:{CLIENTS}, src_mac:{mac(LB_MAC)}, dst_mac:{mac(ROUTER_MAC)}, mtu:1500)",
    f"add next_hops meta.next_hop:2 to_port(port:{SERVERS}, src_mac:{mac(LB_MAC)}, dst_mac:{mac(BACKEND_MAC)}, mtu:1600)",
    "add routes_ipv4 hdr.ipv4.dst_addr:0/0 to_next_hop(next_hop:1)",
    "add routes_ipv6 hdr.ipv6.dst_addr:0/0 to_next_hop(next_hop:1)",
    f"add own_ipv4 hdr.ipv4.dst_addr:{number(VIP)} NoAction()",
    f"add own_ipv6 hdr.ipv6.dst_addr:{number(VIP_V6)} NoAction()",
]


def service(identity, port, protocol=6, idle=300, address=VIP):
    version = 6 if ":" in address else 4
    return (
        f"add services_ipv{version} hdr.ipv{version}.dst_addr:{number(address)} meta.protocol:{protocol} "
        f"meta.service_port:{port} set_service(service:{identity}, idle_seconds:{idle})"
    )


def slots(identity, backends):
    return [
        f"add maglev meta.service:{identity} slot:{slot} set_backend(backend:{backend}) = s{identity}_{slot}"
        for slot, backend in enumerate(backends)
    ]


def setup(name, about, *commands, connections=64):
    test = Test(HERE / name, about, f"-D SLOTS={SLOTS} -D CONNECTIONS={connections}")
    test.run(*HOPS, *commands)
    return test


def up(*backends):
    return [f"register_write alive {backend} 1" for backend in backends]


def hop(packet):
    packet = packet.copy()
    if IP in packet:
        packet.ttl -= 1
    else:
        packet.hlim -= 1
    return packet


def slot_of(client, address, protocol, client_port, service_port):
    packed = ipaddress.ip_address(client).packed + ipaddress.ip_address(address).packed
    return zlib.crc32(packed + struct.pack("!BHH", protocol, client_port, service_port)) % SLOTS


def packets(port):
    """TCP and UDP of a client to the service, over IPv4 and IPv6."""
    return {
        "TCP": IP(src=CLIENT, dst=VIP, tos=0x28) / TCP(sport=4000, dport=port, flags="S") / DATA,
        "UDP": IP(src=CLIENT, dst=VIP) / UDP(sport=4001, dport=port) / DATA,
        "UDP without a checksum": IP(src=CLIENT, dst=VIP) / UDP(sport=4002, dport=port, chksum=0) / DATA,
        "IPv4 options": IP(src=CLIENT, dst=VIP, options=[IPOption_NOP()] * 4) / TCP(sport=4003, dport=port) / DATA,
        "TCP over IPv6": IPv6(src=CLIENT_V6, dst=VIP_V6, tc=0x28) / TCP(sport=4004, dport=port) / DATA,
        "UDP over IPv6": IPv6(src=CLIENT_V6, dst=VIP_V6) / UDP(sport=4005, dport=port) / DATA,
    }


def all_services(identity, port):
    return [
        line
        for address in (VIP, VIP_V6)
        for line in (service(identity, port, 6, address=address), service(identity, port, 17, address=address))
    ]


def outer(source, destination, protocol, inner):
    tos = inner.tos if IP in inner else inner.tc
    if ":" in source:
        return IPv6(src=source, dst=destination, nh=protocol, hlim=64, tc=tos)
    return IP(src=source, dst=destination, proto=protocol, id=0, flags="DF", ttl=64, tos=tos)


def ipip(source, destination, inner):
    return OUT / outer(source, destination, 4 if IP in inner else 41, inner) / Raw(bytes(inner))


def gue(source, destination, inner):
    header = bytes([0, 4 if IP in inner else 41, 0, 0])
    layer = inner[TCP] if TCP in inner else inner[UDP]
    flow = ipaddress.ip_address(inner.src).packed + struct.pack("!HH", layer.sport, layer.dport)
    udp = UDP(sport=dynamic_port(flow), dport=6080, chksum=0)
    return OUT / outer(source, destination, 17, inner) / udp / Raw(header + bytes(inner))


def direct_return():
    test = setup(
        "load_balancer_direct.stf",
        "Direct return: IPIP and GUE over IPv4 and IPv6, and by MAC address. The packet inside is as the client sent it, one hop further.",
        *[
            line
            for port in (1, 2, 3, 4, 5)
            for line in (*all_services(port, 8000 + port), *slots(port, [port] * SLOTS))
        ],
        f"add backends meta.backend:1 ipip_ipv4(next_hop:2, src_addr:{number(LB)}, dst_addr:{number('10.1.0.11')}) = ipip",
        f"add backends meta.backend:2 ipip_ipv6(next_hop:2, src_addr:{number(LB_V6)}, dst_addr:{number('2001:db8:1::11')})",
        f"add backends meta.backend:3 gue_ipv4(next_hop:2, src_addr:{number(LB)}, dst_addr:{number('10.1.0.12')})",
        f"add backends meta.backend:4 gue_ipv6(next_hop:2, src_addr:{number(LB_V6)}, dst_addr:{number('2001:db8:1::12')})",
        "add backends meta.backend:5 by_mac(next_hop:2)",
        *up(1, 2, 3, 4, 5),
    )
    modes = {
        1: ("IPIP", lambda inner: ipip(LB, "10.1.0.11", inner)),
        2: ("IPIP over IPv6", lambda inner: ipip(LB_V6, "2001:db8:1::11", inner)),
        3: ("GUE", lambda inner: gue(LB, "10.1.0.12", inner)),
        4: ("GUE over IPv6", lambda inner: gue(LB_V6, "2001:db8:1::12", inner)),
        5: ("MAC address", lambda inner: OUT / inner),
    }
    for backend, (name, made) in modes.items():
        for what, packet in packets(8000 + backend).items():
            test.say(f"{name}: {what}.")
            test.through(CLIENTS, IN / packet, SERVERS, made(hop(packet)))
    test.counter("usage", "ipip", 6)
    test.say("The MTU of the tunnel's way is 1600: 1580 bytes fit.")
    fits = IP(src=CLIENT, dst=VIP) / TCP(sport=1, dport=8001) / Raw(bytes(1540))
    test.through(CLIENTS, IN / fits, SERVERS, ipip(LB, "10.1.0.11", hop(fits)))
    test.packet(CLIENTS, IN / IP(src=CLIENT, dst=VIP) / TCP(sport=1, dport=8001) / Raw(bytes(1541)))
    test.counter("drops", DROPS.index("long"), 1)
    return test


def translated(packet, **changes):
    """Another address or port, with lengths and checksums computed anew."""
    packet = packet.copy()
    layer = packet[TCP] if TCP in packet else packet[UDP]
    for name, value in changes.items():
        target = packet if name in ("src", "dst") else layer
        setattr(target, name, value)
    return packet


NAT = [
    f"add backends meta.backend:1 nat(next_hop:2, dst_addr:{mapped('10.1.0.11')}, port:8080)",
    f"add backends meta.backend:2 nat(next_hop:2, dst_addr:{number('2001:db8:1::11')}, port:8080)",
    *[
        f"add returns_ipv4 hdr.ipv4.src_addr:{number('10.1.0.11')} meta.protocol:{protocol} source_port:8080 "
        f"set_source(src_addr:{mapped(VIP)}, src_port:80)"
        for protocol in (6, 17)
    ],
    *[
        f"add returns_ipv6 hdr.ipv6.src_addr:{number('2001:db8:1::11')} meta.protocol:{protocol} source_port:8080 "
        f"set_source(src_addr:{number(VIP_V6)}, src_port:80)"
        for protocol in (6, 17)
    ],
    *[service(1, 80, protocol) for protocol in (6, 17)],
    *[service(2, 80, protocol, address=VIP_V6) for protocol in (6, 17)],
    *slots(1, [1] * SLOTS),
    *slots(2, [2] * SLOTS),
    *up(1, 2),
]


def nat():
    test = setup("load_balancer_nat.stf", "NAT: address and port of the back end, and back, with checksums.", *NAT)
    for name, packet in packets(80).items():
        backend = "2001:db8:1::11" if IPv6 in packet else "10.1.0.11"
        test.say(f"{name}, and the answer.")
        test.through(CLIENTS, IN / packet, SERVERS, OUT / hop(translated(packet, dst=backend, dport=8080)))
        layer = packet[TCP] if TCP in packet else packet[UDP]
        answer = translated(packet, src=backend, dst=packet.src, sport=8080, dport=layer.sport)
        test.through(SERVERS, BACK_IN / answer, CLIENTS, BACK_OUT / hop(translated(answer, src=packet.dst, sport=80)))
    test.say("What else a back end sends keeps its source.")
    other = IP(src="10.1.0.11", dst=CLIENT) / TCP(sport=22, dport=5000) / DATA
    test.through(SERVERS, BACK_IN / other, CLIENTS, BACK_OUT / hop(other))
    test.say("A checksum that was wrong stays wrong.")
    wrong = IP(src=CLIENT, dst=VIP) / UDP(sport=4001, dport=80) / DATA
    right = bytes(hop(translated(wrong, dst="10.1.0.11", dport=8080)))
    before, after = bytearray(bytes(wrong)), bytearray(right)
    for data in (before, after):
        data[30] ^= 0x01
    test.through(CLIENTS, IN / IP(bytes(before)), SERVERS, OUT / IP(bytes(after)))
    return test


def errors():
    test = setup(
        "load_balancer_errors.stf",
        "ICMP errors about packets of a service go to the back end of the connection; pings are answered.",
        *NAT,
        service(3, 443),
        *slots(3, [3, 4, 3, 4, 3, 4, 3]),
        f"add backends meta.backend:3 ipip_ipv4(next_hop:2, src_addr:{number(LB)}, dst_addr:{number('10.1.0.13')})",
        f"add backends meta.backend:4 ipip_ipv4(next_hop:2, src_addr:{number(LB)}, dst_addr:{number('10.1.0.14')})",
        *up(3, 4),
    )
    for kind, code in ((3, 4), (11, 0), (12, 0)):
        for port in (5001, 5002, 5003, 5004):
            test.say(f"ICMP type {kind} about a connection of client port {port}.")
            inside = IP(src=VIP, dst=CLIENT, ttl=3, id=4) / TCP(sport=443, dport=port, seq=9)
            error = IP(src="203.0.113.1", dst=VIP) / ICMP(type=kind, code=code) / Raw(bytes(inside)[:28])
            backend = 3 if slot_of(CLIENT, VIP, 6, port, 443) % 2 == 0 else 4
            test.through(CLIENTS, IN / error, SERVERS, ipip(LB, f"10.1.0.1{backend}", hop(error)))
    test.counter("connections", NEW, 0)
    test.say("With NAT the packet inside gets the address of the back end, too.")
    for answer in answers().values():
        address, router = (VIP_V6, "2001:db8:9::1") if IPv6 in answer else (VIP, "203.0.113.1")
        seen = translated(answer, src=address, sport=80)
        for error in error_layers(answer):
            before = about(router, address, error, seen)
            test.through(CLIENTS, IN / before, SERVERS, OUT / hop(about(router, answer.src, error, answer)))
    test.say("An echo request to the service is answered here.")
    ping = IP(src=CLIENT, dst=VIP, ttl=3, id=9) / ICMP(type=8, id=1, seq=2) / DATA
    test.through(
        CLIENTS, IN / ping, CLIENTS, BACK_OUT / IP(src=VIP, dst=CLIENT, ttl=64, id=9) / ICMP(type=0, id=1, seq=2) / DATA
    )
    ping = IPv6(src=CLIENT_V6, dst=VIP_V6, hlim=3, tc=0x28) / ICMPv6EchoRequest(id=1, seq=2, data=bytes(range(48)))
    pong = IPv6(src=VIP_V6, dst=CLIENT_V6, hlim=64, tc=0x28) / ICMPv6EchoReply(id=1, seq=2, data=bytes(range(48)))
    test.through(CLIENTS, IN / ping, CLIENTS, BACK_OUT / pong)
    return test


def answers():
    """Packets of a back end behind NAT to a client."""
    return {
        name: translated(packet, src="2001:db8:1::11" if IPv6 in packet else "10.1.0.11", dst=packet.src, sport=8080, dport=4000)
        for name, packet in packets(80).items()
    }


def error_layers(packet):
    """ICMP errors about a packet."""
    if IPv6 in packet:
        return ICMPv6DestUnreach(code=4), ICMPv6PacketTooBig(mtu=1300), ICMPv6TimeExceeded(), ICMPv6ParamProblem(ptr=6)
    return ICMP(type=3, code=3), ICMP(type=3, code=4, nexthopmtu=1400), ICMP(type=11), ICMP(type=12)


def about(source, destination, error, packet, quoted=8):
    """An ICMP error that quotes the IP header of a packet and `quoted` bytes after it. A transport checksum within those is that
    of the whole packet."""
    header = 40 if IPv6 in packet else 4 * IP(bytes(packet)).ihl
    quote = Raw(bytes(packet)[: header + quoted])
    if IPv6 in packet:
        return IPv6(src=source, dst=destination) / error / quote
    return IP(src=source, dst=destination) / error / quote


def returned_errors():
    test = setup(
        "load_balancer_returned_errors.stf",
        "ICMP errors of back ends behind NAT, and of routers before them, reach clients as errors about packets to the service.",
        *NAT,
    )
    for name, packet in packets(80).items():
        backend, router = ("2001:db8:1::11", "2001:db8:3::1") if IPv6 in packet else ("10.1.0.11", "10.3.0.1")
        delivered = hop(translated(packet, dst=backend, dport=8080))
        sent = hop(packet)
        test.say(f"{name}: of the back end, and of a router before it.")
        for source in (backend, router):
            for error in error_layers(packet):
                reported = about(source, packet.src, error, delivered)
                test.through(SERVERS, BACK_IN / reported, CLIENTS, BACK_OUT / hop(about(packet.dst, packet.src, error, sent)))
    test.say("More than eight bytes are quoted.")
    packet = packets(80)["UDP"]
    delivered = translated(packet, dst="10.1.0.11", dport=8080)
    error = ICMP(type=3, code=3)
    reported = about("10.1.0.11", CLIENT, error, delivered, quoted=40)
    test.through(SERVERS, BACK_IN / reported, CLIENTS, BACK_OUT / hop(about(VIP, CLIENT, error, packet, quoted=40)))
    test.say("As they are: about another port of the back end, to another host than the sender of the quoted packet, about a ping.")
    elsewhere = translated(packet, dst="10.1.0.11", dport=8081)
    ping = IP(src=CLIENT, dst="10.1.0.11") / ICMP(id=1) / DATA
    for other in (
        about("10.1.0.11", CLIENT, error, elsewhere),
        about("10.1.0.11", "192.0.2.8", error, delivered),
        about("10.1.0.11", CLIENT, error, ping),
    ):
        test.through(SERVERS, BACK_IN / other, CLIENTS, BACK_OUT / hop(other))
    return test


def maglev():
    backends = [1, 2, 3, 1, 2, 3, 1]
    test = setup(
        "load_balancer_maglev.stf",
        "A connection gets the back end of its slot: CRC-32 of addresses, protocol and ports, modulo the slots.",
        service(1, 80),
        service(1, 80, address=VIP_V6),
        *slots(1, backends),
        *[
            f"add backends meta.backend:{b} ipip_ipv4(next_hop:2, src_addr:{number(LB)}, dst_addr:{number(f'10.1.0.{b}')})"
            for b in (1, 2, 3)
        ],
        *up(1, 2, 3),
        connections=1024,
    )
    for port in range(6000, 6012):
        for client, address, kind in ((CLIENT, VIP, IP), (CLIENT_V6, VIP_V6, IPv6)):
            packet = kind(src=client, dst=address) / TCP(sport=port, dport=80, flags="S")
            backend = backends[slot_of(client, address, 6, port, 80)]
            test.through(CLIENTS, IN / packet, SERVERS, ipip(LB, f"10.1.0.{backend}", hop(packet)))
    test.counter("connections", NEW, 24)
    return test


def by_backend(*backends):
    return [
        f"add backends meta.backend:{one} ipip_ipv4(next_hop:2, src_addr:{number(LB)}, dst_addr:{number(f'10.1.0.{one}')})"
        for one in backends
    ]


def tcp(port=4000, flags="A"):
    return IP(src=CLIENT, dst=VIP) / TCP(sport=port, dport=80, flags=flags)


def goes_to(test, packet, backend):
    test.through(CLIENTS, IN / packet, SERVERS, ipip(LB, f"10.1.0.{backend}", hop(packet)))


def all_to(test, backend):
    """Every slot to another back end."""
    test.run(*[f"remove s1_{slot}" for slot in range(SLOTS)], *slots(1, [backend] * SLOTS))


def connections():
    test = setup(
        "load_balancer_connections.stf",
        "A connection stays with its back end whatever the Maglev table says, until it ends or the back end does.",
        service(1, 80),
        *slots(1, [1] * SLOTS),
        *by_backend(1, 2),
        *up(1, 2),
    )
    goes_to(test, tcp(4000, "S"), 1)
    goes_to(test, tcp(4000), 1)
    goes_to(test, tcp(4001, "S"), 1)
    goes_to(test, tcp(4001), 1)
    test.say("Back end 1 is drained: what it has stays, new connections go elsewhere.")
    all_to(test, 2)
    goes_to(test, tcp(4000), 1)
    goes_to(test, tcp(4002, "S"), 2)
    goes_to(test, tcp(4001), 1)
    test.say("ICMP errors follow the connection.")
    inside = IP(src=VIP, dst=CLIENT) / TCP(sport=80, dport=4000)
    goes_to(test, IP(src="203.0.113.1", dst=VIP) / ICMP(type=3, code=4) / Raw(bytes(inside)[:28]), 1)
    test.say("Back end 1 is dead: its connections move, and stay where they are when it comes back.")
    test.run("register_write alive 1 0")
    goes_to(test, tcp(4000), 2)
    test.run("register_write alive 1 1")
    all_to(test, 1)
    goes_to(test, tcp(4000), 2)
    test.say("The one that sent nothing meanwhile still has its back end.")
    goes_to(test, tcp(4001), 1)
    test.say("All back ends are drained: what they have stays, new connections are dropped. One of a dead back end, too.")
    test.run(*[f"remove s1_{slot}" for slot in range(SLOTS)])
    goes_to(test, tcp(4000), 2)
    goes_to(test, tcp(4001), 1)
    test.packet(CLIENTS, IN / tcp(4003, "S"))
    test.run("register_write alive 1 0")
    test.packet(CLIENTS, IN / tcp(4001))
    test.counter("drops", DROPS.index("backend"), 2)
    test.counter("connections", NEW, 3)
    test.counter("connections", MOVED, 1)
    test.counter("connections", KNOWN, 9)
    return test


def wait(test, seconds):
    """Each change of the configuration takes a second of the test's time."""
    for _ in range(seconds):
        test.run("register_write alive 9 0")
        test.packet(CLIENTS, NOT_IP)


def time_outs():
    test = setup(
        "load_balancer_time_outs.stf",
        "How long a connection is remembered: idle, after a SYN alone, after a FIN.",
        service(1, 80, idle=200),
        *slots(1, [1] * SLOTS),
        *by_backend(1, 2),
        *up(1, 2),
    )
    goes_to(test, tcp(4000, "S"), 1)
    goes_to(test, tcp(4001, "S"), 1)
    goes_to(test, tcp(4001), 1)
    goes_to(test, tcp(4002, "S"), 1)
    goes_to(test, tcp(4002, "FA"), 1)
    all_to(test, 2)
    test.say("15 s later the connection that was closed is forgotten.")
    wait(test, 14)
    goes_to(test, tcp(4002, "S"), 2)
    goes_to(test, tcp(4001), 1)
    test.say("75 s later so is the one that never got beyond its SYN.")
    wait(test, 60)
    goes_to(test, tcp(4000, "S"), 2)
    goes_to(test, tcp(4001), 1)
    test.say("The one that is used stays. After 220 s without a packet it is forgotten.")
    wait(test, 220)
    goes_to(test, tcp(4001), 2)
    return test


def overflow():
    test = setup(
        "load_balancer_overflow.stf",
        "Two places for connections: the third is told to the controller and has the back end of its slot until it is pinned.",
        service(1, 80),
        *slots(1, [1] * SLOTS),
        *by_backend(1, 2, 3),
        *up(1, 2, 3),
        connections=1,
    )
    for port in (4000, 4001, 4002):
        goes_to(test, tcp(port, "S"), 1)
    test.counter("connections", NO_PLACE, 1)
    all_to(test, 2)
    goes_to(test, tcp(4000), 1)
    goes_to(test, tcp(4001), 1)
    goes_to(test, tcp(4002), 2)
    key = f"client:{mapped(CLIENT)} address:{mapped(VIP)} meta.protocol:6 meta.client_port:4002 meta.service_port:80"
    test.run(f"add pinned {key} set_backend(backend:1)")
    goes_to(test, tcp(4002), 1)
    test.counter("connections", PINNED, 1)
    test.say("It stays there when all back ends are drained.")
    test.run(*[f"remove s1_{slot}" for slot in range(SLOTS)])
    goes_to(test, tcp(4002), 1)
    test.counter("connections", PINNED, 2)
    test.run(*slots(1, [2] * SLOTS))
    test.say("A pinned connection leaves a dead back end, too.")
    test.run("register_write alive 1 0")
    goes_to(test, tcp(4002), 2)
    test.say("Times that were saved before the switch started again, when its clock had counted for 30 days: who has a place keeps it, others may take it.")
    test.run("register_write alive 1 1", *(f"register_write {name}_times 0 2500000" for name in ("first", "second")))
    goes_to(test, tcp(4000), 1)
    goes_to(test, tcp(4003, "S"), 2)
    all_to(test, 1)
    goes_to(test, tcp(4000), 1)
    goes_to(test, tcp(4003), 2)
    test.counter("connections", NO_PLACE, 3)
    return test


def others():
    test = setup(
        "load_balancer_others.stf",
        "ARP, neighbour discovery, other traffic and what is dropped.",
        service(1, 80),
        service(2, 81),
        service(3, 82),
        *slots(1, [1] * SLOTS),
        *slots(3, [7] * SLOTS),
        *by_backend(1),
        *up(1),
        f"add arp_ipv4 port:{CLIENTS} address:{number(VIP)} arp_reply(mac:{mac(LB_MAC)})",
        f"add nd_ipv6 port:{CLIENTS} address:{number(VIP_V6)} nd_advertise(mac:{mac(LB_MAC)})",
    )
    pad = Raw(bytes(18))
    request = ARP(op=1, hwsrc=ROUTER_MAC, psrc=CLIENT, hwdst="00:00:00:00:00:00", pdst=VIP)
    reply = ARP(op=2, hwsrc=LB_MAC, psrc=VIP, hwdst=ROUTER_MAC, pdst=CLIENT)
    test.through(
        CLIENTS, Ether(src=ROUTER_MAC, dst="ff:ff:ff:ff:ff:ff") / request / pad, CLIENTS, BACK_OUT / reply / pad
    )
    test.say("On another port the address is not ours.")
    test.packet(SERVERS, Ether(src=ROUTER_MAC, dst="ff:ff:ff:ff:ff:ff") / request / pad)
    test.say("Neighbour solicitation.")
    solicitation = IPv6(src=CLIENT_V6, dst="ff02::1:ff00:10", hlim=255) / ICMPv6ND_NS(tgt=VIP_V6)
    advertisement = IPv6(src=VIP_V6, dst=CLIENT_V6, hlim=255) / ICMPv6ND_NA(tgt=VIP_V6, R=0, S=1, O=1)
    test.through(
        CLIENTS,
        Ether(src=ROUTER_MAC, dst="33:33:ff:00:00:10") / solicitation / ICMPv6NDOptSrcLLAddr(lladdr=ROUTER_MAC),
        CLIENTS,
        BACK_OUT / advertisement / ICMPv6NDOptDstLLAddr(lladdr=LB_MAC),
    )
    test.say("Packets for others are routed.")
    for packet in (
        IP(src=CLIENT, dst="8.8.8.8") / TCP(sport=1, dport=80),
        IPv6(src=CLIENT_V6, dst="2001:db8:8::8") / ICMPv6EchoRequest(),
    ):
        test.through(SERVERS, BACK_IN / packet, CLIENTS, BACK_OUT / hop(packet))
    test.say("Dropped: no Maglev table, unknown back end, TTL, fragment of a service, wrong checksum, not IP.")
    test.packet(CLIENTS, IN / IP(src=CLIENT, dst=VIP) / TCP(sport=1, dport=81))
    test.packet(CLIENTS, IN / IP(src=CLIENT, dst=VIP) / TCP(sport=1, dport=82))
    test.counter("drops", DROPS.index("backend"), 2)
    test.packet(CLIENTS, IN / IP(src=CLIENT, dst=VIP, ttl=1) / TCP(sport=1, dport=80))
    test.counter("drops", DROPS.index("ttl"), 1)
    test.packet(CLIENTS, IN / IP(src=CLIENT, dst=VIP, flags="MF", proto=6) / DATA)
    test.counter("drops", DROPS.index("fragment"), 1)
    test.say("To addresses of services, but for none of them: routed, they would come back again and again.")
    for packet in (
        IP(src=CLIENT, dst=VIP) / TCP(sport=1, dport=9999),
        IP(src=CLIENT, dst=VIP) / ICMP(type="echo-reply"),
        IPv6(src=CLIENT_V6, dst=VIP_V6) / UDP(sport=1, dport=9999),
        IPv6(src=CLIENT_V6, dst=VIP_V6) / ICMPv6EchoReply(),
    ):
        test.packet(CLIENTS, IN / packet)
    test.counter("drops", DROPS.index("service"), 4)
    for address in (*ADDRESSES_IPV4, *ADDRESSES_IPV6):
        kind, source = (IPv6, CLIENT_V6) if ":" in address else (IP, CLIENT)
        test.packet(SERVERS, BACK_IN / kind(src=source, dst=address) / UDP(sport=1, dport=80))
    test.counter("drops", DROPS.index("address"), len(ADDRESSES_IPV4) + len(ADDRESSES_IPV6))
    wrong = bytearray(bytes(IN / tcp()))
    wrong[24] ^= 1
    test.packet(CLIENTS, bytes(wrong))
    test.packet(CLIENTS, bytes(IN / tcp())[:40])
    test.counter("drops", DROPS.index("malformed"), 2)
    test.packet(CLIENTS, NOT_IP)
    test.counter("drops", DROPS.index("not_ip"), 2)
    test.say("Frames to groups of stations; to another one as soon as the own ones are known.")
    ping = IP(src=CLIENT, dst=VIP) / ICMP(id=1)
    pong = IP(src=VIP, dst=CLIENT) / ICMP(type="echo-reply", id=1)
    ping_ipv6 = IPv6(src=CLIENT_V6, dst=VIP_V6) / ICMPv6EchoRequest()
    other = Ether(src=ROUTER_MAC, dst="02:00:00:00:00:99")
    for frame in (tcp(), ping, ping_ipv6):
        test.packet(CLIENTS, Ether(src=ROUTER_MAC, dst="ff:ff:ff:ff:ff:ff") / frame)
        test.packet(CLIENTS, Ether(src=ROUTER_MAC, dst="01:00:5e:00:00:05") / frame)
    test.counter("drops", DROPS.index("station"), 6)
    test.through(CLIENTS, other / ping, CLIENTS, Ether(src=other.dst, dst=ROUTER_MAC) / pong)
    test.run(f"add stations port:{CLIENTS} address:{mac(LB_MAC)} NoAction()", "setdefault stations is_other()")
    for frame in (tcp(), ping, ping_ipv6):
        test.packet(CLIENTS, other / frame)
    test.packet(SERVERS, BACK_IN / IP(src=CLIENT, dst="8.8.8.8") / TCP(sport=1, dport=80))
    test.counter("drops", DROPS.index("station"), 10)
    test.through(CLIENTS, IN / ping, CLIENTS, BACK_OUT / pong)
    return test


def malformed():
    test = setup(
        "load_balancer_malformed.stf",
        "Packets whose lengths do not agree, or whose header checksum is wrong, are dropped and open no connection.",
        *all_services(1, 443),
        *slots(1, [1] * SLOTS),
        *by_backend(1),
        *up(1),
    )
    wrong = network_ipv4(CLIENT, VIP) | transport_ipv4(CLIENT, VIP)
    wrong |= network_ipv6(CLIENT_V6, VIP_V6) | transport_ipv6(CLIENT_V6, VIP_V6)
    for what, packet in wrong.items():
        test.say(f"{what[0].upper()}{what[1:]}.")
        ether_type = 0x86DD if IPv6 in packet else 0x800
        test.packet(CLIENTS, bytes(IN)[:12] + ether_type.to_bytes(2, "big") + bytes(packet))
    test.counter("drops", DROPS.index("malformed"), len(wrong))
    test.counter("connections", NEW, 0)
    return test


def demonstration():
    """The entries of `forebay function run load_balancer`: a service, and two of the back ends of
    load_balancer.toml."""
    test = Test(
        HERE / "entries.stf",
        f"The service {VIP}:80 (TCP) for clients at port 1, in 192.0.2.0/24; their next router is 192.0.2.7 with the MAC address\n"
        "02:00:00:00:00:07. Back ends at port 2, behind NAT: 10.1.0.11:8080 and 10.1.0.12:8080, with the MAC addresses 02:00:00:00:01:11 and :12. The\n"
        "Maglev table is that of maglev.py for 4,093 slots.",
    )
    own, inner = "02:00:00:00:00:01", "02:00:00:00:01:01"
    for port, address, own_mac in ((1, VIP, own), (1, "192.0.2.1", own), (2, LB, inner)):
        test.run(f"add arp_ipv4 port:{port} address:{number(address)} arp_reply(mac:{mac(own_mac)})")
        test.run(f"add own_ipv4 hdr.ipv4.dst_addr:{number(address)} NoAction()")
    hops = {1: (1, own, "02:00:00:00:00:07", 1500), 11: (2, inner, "02:00:00:00:01:11", 1600), 12: (2, inner, "02:00:00:00:01:12", 1600)}
    for hop_number, (port, src, dst, mtu) in hops.items():
        test.run(
            f"add next_hops meta.next_hop:{hop_number} to_port(port:{port}, src_mac:{mac(src)}, dst_mac:{mac(dst)}, mtu:{mtu})"
        )
    test.run(f"add routes_ipv4 hdr.ipv4.dst_addr:{number('192.0.2.0')}/24 to_next_hop(next_hop:1)", service(1, 80))
    for backend in (1, 2):
        address = f"10.1.0.1{backend}"
        test.run(
            f"add backends meta.backend:{backend} nat(next_hop:1{backend}, dst_addr:{mapped(address)}, port:8080)",
            f"add returns_ipv4 hdr.ipv4.src_addr:{number(address)} meta.protocol:6 source_port:8080 "
            f"set_source(src_addr:{mapped(VIP)}, src_port:80)",
            *up(backend),
        )
    for slot, backend in enumerate(maglev_table({"1": 1, "2": 1}, 4093)):
        test.run(f"add maglev meta.service:1 slot:{slot} set_backend(backend:{backend})")
    return test


TESTS = [direct_return, nat, errors, returned_errors, maglev, connections, time_outs, overflow, others, malformed, demonstration]

if __name__ == "__main__":
    sys.exit(write([make() for make in TESTS]))
