#!/usr/bin/env python3
"""Writes the STF tests of nat44.p4. The packets are made by scapy, the ports of mappings come from a model of their
own.

    make_tests.py [--check]

Needs scapy from PyPI.
"""

import ipaddress
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import with_scapy  # noqa: F401
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP, fragment
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, GRE, Ether
from scapy.packet import Raw
from stf import Test, write
from wrong import ADDRESSES_IPV4, network_ipv4, transport_ipv4

INSIDE, OUTSIDE = 1, 2
SECRET = 0x5EED
A, B, C = "10.0.0.5", "10.0.0.6", "10.1.0.7"
SERVER, OTHER = "198.18.0.10", "198.18.0.20"
WEB, WEB_TOO = (SERVER, 443), (OTHER, 443)
POOL = ["203.0.113.1", "203.0.113.2"]
GATEWAY, OUTSIDE_ADDR = "10.0.0.1", "192.0.2.1"
NAT_IN, NAT_OUT = "02:00:00:00:00:01", "02:00:00:00:01:01"
ROUTER_IN, ROUTER_OUT = "02:00:00:00:00:02", "02:00:00:00:01:02"
DATA = Raw(bytes(range(40)))
DROPS = "malformed not_ipv4 interface route ttl long protocol mapping filtered unrelated fragment pool block port own address".split()
NONE, ADDRESS, ADDRESS_AND_PORT = range(3)
UDP_S, ICMP_S, TRANSITORY, ESTABLISHED = 300, 60, 240, 7440

FROM_IN = Ether(src=ROUTER_IN, dst=NAT_IN)
TO_IN = Ether(src=NAT_IN, dst=ROUTER_IN)
FROM_OUT = Ether(src=ROUTER_OUT, dst=NAT_OUT)
TO_OUT = Ether(src=NAT_OUT, dst=ROUTER_OUT)


def number(address):
    return int(ipaddress.ip_address(address))


def crc16(data):
    """CRC-16/ARC."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    return crc


class Nat:
    """Blocks and ports that subscribers and mappings get, computed beside the program."""

    def __init__(self, bits=9, addresses=2):
        self.bits, self.addresses = bits, addresses
        self.first = (1023 >> bits) + 1
        self.block_count = (0xFFFF >> bits) + 1 - self.first
        self.turn, self.port_turns = 0, {}
        self.blocks, self.mappings = {}, {}

    def block(self, address):
        while address not in self.blocks:
            turn = self.turn % (self.addresses * self.block_count)
            spread = (turn // self.addresses * 32749 + (SECRET & 0xFFFF)) % self.block_count
            found = turn % self.addresses, (self.first + spread) << self.bits
            self.turn += 1
            if found not in self.blocks.values():
                self.blocks[address] = found
        return self.blocks[address]

    def external(self, protocol, address, port):
        """The external endpoint of a mapping, which is made if there is none."""
        key = protocol, address, port
        index, base = self.block(address)
        scramble = crc16(struct.pack("!HI", base, SECRET))
        while key not in self.mappings:
            turn = self.port_turns.get((index, base), 0)
            self.port_turns[index, base] = turn + 1
            offset = ((turn << 1 ^ scramble) & 0xFFFE | port & 1) & ((1 << self.bits) - 1)
            found = POOL[index], base | offset
            if (protocol, *found) not in {(other[0], *external) for other, external in self.mappings.items()}:
                self.mappings[key] = found
        return self.mappings[key]

    def of(self, packet):
        """That of what a packet from inside comes from."""
        if ICMP in packet:
            return self.external(1, packet.src, packet[ICMP].id)
        return self.external(packet.proto, packet.src, packet.sport)

    def end_mappings(self):
        self.mappings.clear()

    def end_blocks(self):
        self.end_mappings()
        self.blocks.clear()


def behaviour(filtering=NONE, tells=0):
    return f"setdefault behaviour set_behaviour(filtering:{filtering}, tells_mappings:{tells}, secret:{SECRET:#x})"


def setup(name, about, options="", *, nat=None):
    test = Test(HERE / f"nat44_{name}.stf", about, options)
    test.run(*(line for line in (HERE / "entries.stf").read_text().splitlines() if not line.startswith("#")))
    test.nat = nat or Nat()
    return test


def drops(test, name, packets):
    test.counter("drops", DROPS.index(name), packets)


def translated(packet, source=None, destination=None):
    """The packet with other endpoints, one hop further. scapy computes its checksums from nothing."""
    packet = packet.copy()
    packet.ttl -= 1
    layer = packet[TCP] if TCP in packet else packet[UDP] if UDP in packet else packet[ICMP]
    zero = UDP in packet and packet[UDP].chksum == 0
    if source:
        packet.src = source[0]
    if destination:
        packet.dst = destination[0]
    if ICMP in packet:
        layer.id = (source or destination)[1]
    else:
        if source:
            layer.sport = source[1]
        if destination:
            layer.dport = destination[1]
    del packet.chksum
    if not zero:
        del layer.chksum
    return packet


def out(test, packet):
    """A packet from inside that leaves translated; its external endpoint."""
    external = test.nat.of(packet)
    test.through(INSIDE, FROM_IN / packet, OUTSIDE, TO_OUT / translated(packet, source=external))
    return external


def back(test, packet, inside):
    """A packet from outside that is delivered to an inside endpoint."""
    test.through(OUTSIDE, FROM_OUT / packet, INSIDE, TO_IN / translated(packet, destination=inside))


def udp(source, destination, data=DATA, **fields):
    return IP(src=source[0], dst=destination[0], **fields) / UDP(sport=source[1], dport=destination[1]) / data


def tcp(source, destination, flags, seq=1000, ack=0, data=b""):
    return (
        IP(src=source[0], dst=destination[0], flags="DF")
        / TCP(sport=source[1], dport=destination[1], flags=flags, seq=seq, ack=ack)
        / Raw(data)
    )


def ping(source, destination, identifier, kind="echo-request"):
    return IP(src=source, dst=destination) / ICMP(type=kind, id=identifier, seq=7) / DATA


def mappings():
    test = setup(
        "mappings", "Endpoint-independent mapping: UDP, TCP, ICMP queries; pairs of addresses, parity, static mappings."
    )
    web, dns = (SERVER, 443), (OTHER, 53)
    test.say("UDP: one mapping for all destinations; the answers come back. A checksum of zero stays.")
    external = out(test, udp((A, 4000), web))
    back(test, udp(web, external), (A, 4000))
    out(test, udp((A, 4000), dns))
    back(test, udp(dns, external), (A, 4000))
    out(test, IP(src=A, dst=SERVER) / UDP(sport=4000, dport=443, chksum=0) / DATA)
    out(test, udp((A, 4000), web, options=[IPOption_NOP()] * 4))
    test.run(
        "check_entries outbound 1", "check_entries inbound 1", "check_entries subscribers 1", "check_entries blocks 1"
    )
    test.say("Other ports of the subscriber: other ports of its block, of the same address, even or odd as inside.")
    ports = [out(test, udp((A, port), web)) for port in (4001, 4002, 5001, 40000)]
    assert len({address for address, _ in ports}) == 1 and all(
        port % 2 == inside % 2 for (_, port), inside in zip(ports, (4001, 4002, 5001, 40000), strict=True)
    )
    test.say("TCP.")
    external = out(test, tcp((A, 4000), web, "S"))
    back(test, tcp(web, external, "SA", ack=1001), (A, 4000))
    out(test, tcp((A, 4000), web, "A", 1001, 1001))
    out(test, tcp((A, 4000), web, "PA", 1001, 1001, b"GET / HTTP/1.0\r\n\r\n"))
    back(test, tcp(web, external, "PA", 1001, 1019, b"HTTP/1.0 200 OK\r\n\r\n"), (A, 4000))
    test.say("ICMP: echo and timestamp, requests from inside and replies from outside.")
    external = out(test, ping(A, SERVER, 4000))
    back(test, ping(SERVER, external[0], external[1], "echo-reply"), (A, 4000))
    out(test, IP(src=A, dst=SERVER) / ICMP(type=13, id=4000, seq=1, ts_ori=1, ts_rx=0, ts_tx=0))
    back(
        test,
        IP(src=SERVER, dst=external[0]) / ICMP(type=14, id=external[1], seq=1, ts_ori=1, ts_rx=2, ts_tx=2),
        (A, 4000),
    )
    test.say("Another subscriber with the same port has another block.")
    external = out(test, udp((B, 4000), web))
    assert test.nat.block(B) != test.nat.block(A)
    back(test, udp(web, external), (B, 4000))
    test.run("check_entries subscribers 2", "check_entries outbound 8")
    test.say("A static mapping: a server inside, and what it begins itself.")
    server, public = (C, 80), (POOL[0], 80)
    test.run(
        f"add inbound protocol:6 external:{number(POOL[0])} port:80 deliver_static(addr:{number(C)}, port:80)",
        f"add outbound protocol:6 inside:{number(C)} port:80 translate_static(addr:{number(POOL[0])}, port:80)",
    )
    back(test, tcp((OTHER, 5555), public, "S"), server)
    answer = tcp(server, (OTHER, 5555), "SA", ack=1001)
    test.through(INSIDE, FROM_IN / answer, OUTSIDE, TO_OUT / translated(answer, source=public))
    test.run("wait 8000")
    back(test, tcp((OTHER, 5556), public, "S"), server)
    test.run("check_entries outbound 1", "check_entries subscribers 0")
    return test


def filtering():
    test = setup("filtering", "What lets packets from outside in: nothing, the address, the address and the port.")
    web, same_host, other = (SERVER, 443), (SERVER, 444), (OTHER, 443)
    test.say("Without a mapping nothing comes in.")
    test.packet(OUTSIDE, FROM_OUT / udp(web, (POOL[0], 4000)))
    test.packet(OUTSIDE, FROM_OUT / tcp(web, (POOL[0], 4000), "S"))
    test.packet(OUTSIDE, FROM_OUT / ping(SERVER, POOL[0], 1))
    drops(test, "mapping", 3)
    test.say("Endpoint-independent filtering: everyone may come to a mapping.")
    external = out(test, udp((A, 4000), web))
    for sender in (web, same_host, other):
        back(test, udp(sender, external), (A, 4000))
    test.say("Address-dependent: only addresses that the inside endpoint has sent to.")
    test.run(behaviour(ADDRESS))
    external = out(test, udp((A, 4001), web))
    back(test, udp(web, external), (A, 4001))
    back(test, udp(same_host, external), (A, 4001))
    test.packet(OUTSIDE, FROM_OUT / udp(other, external))
    drops(test, "filtered", 1)
    out(test, udp((A, 4001), other))
    back(test, udp(other, external), (A, 4001))
    test.say("Address- and port-dependent, also for TCP.")
    test.run(behaviour(ADDRESS_AND_PORT))
    external = out(test, udp((A, 4002), web))
    back(test, udp(web, external), (A, 4002))
    test.packet(OUTSIDE, FROM_OUT / udp(same_host, external))
    test.packet(OUTSIDE, FROM_OUT / udp(other, external))
    drops(test, "filtered", 3)
    external = out(test, tcp((A, 4002), web, "S"))
    back(test, tcp(web, external, "SA", ack=1001), (A, 4002))
    test.packet(OUTSIDE, FROM_OUT / tcp(same_host, external, "S"))
    drops(test, "filtered", 4)
    test.say("ICMP queries: replies of the host that was asked. Errors come from anywhere.")
    external = out(test, ping(A, SERVER, 4003))
    back(test, ping(SERVER, external[0], external[1], "echo-reply"), (A, 4003))
    test.packet(OUTSIDE, FROM_OUT / ping(OTHER, external[0], external[1], "echo-reply"))
    drops(test, "filtered", 5)
    sent = translated(udp((A, 4002), web), source=test.nat.external(17, A, 4002))
    error_back(test, OTHER, sent, udp((A, 4002), web))
    test.say("A filter ends with the time of its protocol.")
    test.run(f"wait {UDP_S - 20}")
    out(test, udp((A, 4002), other))
    test.run("wait 30")
    external = test.nat.external(17, A, 4002)
    test.packet(OUTSIDE, FROM_OUT / udp(web, external))
    drops(test, "filtered", 6)
    back(test, udp(other, external), (A, 4002))
    return test


def icmp_error(source, destination, about, kind=3, code=3, quoted=28, **fields):
    """An error that quotes the header and the first bytes of a packet."""
    return IP(src=source, dst=destination) / ICMP(type=kind, code=code, **fields) / Raw(bytes(about)[:quoted])


def aged(packet, ttl):
    """The packet as it is where its error is made."""
    packet = IP(bytes(packet))
    packet.ttl = ttl
    del packet.chksum
    return IP(bytes(packet))


def error_back(test, reporter, sent, original, ttl=50, **fields):
    """An error from outside about a packet that the NAT has sent."""
    sent, original = aged(sent, ttl), aged(original, ttl)
    error = icmp_error(reporter, sent.src, sent, **fields)
    delivered = icmp_error(reporter, original.src, original, **fields)
    delivered.ttl = error.ttl - 1
    test.through(OUTSIDE, FROM_OUT / error, INSIDE, TO_IN / delivered)


def errors():
    test = setup("errors", "ICMP errors: the packet inside is translated, in both directions.")
    web = (SERVER, 443)
    test.say(
        "From outside, about UDP, TCP and echo requests: unreachable, time exceeded, fragmentation needed, parameter problem."
    )
    for packet in (
        udp((A, 4000), web),
        IP(src=A, dst=SERVER) / UDP(sport=4000, dport=443, chksum=0) / DATA,
        tcp((A, 4000), web, "S"),
        ping(A, SERVER, 4000),
    ):
        external = out(test, packet)
        sent = translated(packet, source=external)
        error_back(test, SERVER, sent, packet)
        error_back(test, "198.18.9.9", sent, packet, kind=11, code=0)
        error_back(test, "198.18.9.9", sent, packet, kind=3, code=4, nexthopmtu=1400)
        error_back(test, "198.18.9.9", sent, packet, kind=12, code=0)
    test.say("More than eight bytes are quoted; the header inside has options.")
    packet = udp((A, 4000), web)
    error_back(test, SERVER, translated(packet, source=test.nat.of(packet)), packet, quoted=60)
    packet = udp((A, 4000), web, options=[IPOption_NOP()] * 4)
    external = out(test, packet)
    error_back(test, SERVER, translated(packet, source=external), packet, quoted=32)
    test.say("From inside, about what came from outside: its source becomes the external address of the mapping.")
    for packet in (udp(web, test.nat.external(17, A, 4000)), tcp(web, test.nat.external(6, A, 4000), "SA", ack=1)):
        delivered = translated(packet, destination=(A, 4000))
        test.through(OUTSIDE, FROM_OUT / packet, INSIDE, TO_IN / delivered)
        delivered = aged(delivered, 60)
        error = icmp_error(A, SERVER, delivered)
        reported = icmp_error(packet.dst, SERVER, aged(packet, 60))
        reported.ttl = error.ttl - 1
        test.through(INSIDE, FROM_IN / error, OUTSIDE, TO_OUT / reported)
    test.say("Of a router inside too.")
    error = icmp_error("10.0.0.99", SERVER, delivered, kind=11, code=0)
    reported = icmp_error(packet.dst, SERVER, aged(packet, 60), kind=11, code=0)
    reported.ttl = error.ttl - 1
    test.through(INSIDE, FROM_IN / error, OUTSIDE, TO_OUT / reported)
    test.say("About no mapping: dropped.")
    test.packet(OUTSIDE, FROM_OUT / icmp_error(SERVER, POOL[0], udp((POOL[0], 9999), web)))
    test.packet(INSIDE, FROM_IN / icmp_error(A, SERVER, udp(web, (A, 9))))
    drops(test, "unrelated", 2)
    test.say("About a query to a destination without translation, which came and goes as it is.")
    error = icmp_error("198.51.100.1", A, aged(ping(A, "198.51.100.7", 4000), 60), kind=11, code=0)
    plain = error.copy()
    plain.ttl -= 1
    test.through(OUTSIDE, FROM_OUT / error, INSIDE, TO_IN / plain)
    test.say("About a later fragment: it has no ports.")
    later = udp((POOL[0], 9999), web)
    later.frag = 100
    test.packet(OUTSIDE, FROM_OUT / icmp_error(SERVER, POOL[0], later))
    drops(test, "mapping", 1)
    return test


def hairpin():
    test = setup("hairpin", "Hairpinning: hosts inside that reach each other by their external endpoints, as these.")
    outside = (SERVER, 443)
    a, b = out(test, udp((A, 4000), outside)), out(test, udp((B, 5000), outside))

    def through(packet, source, destination):
        test.through(
            INSIDE, FROM_IN / packet, INSIDE, TO_IN / translated(packet, source=source, destination=destination)
        )

    test.say("UDP, both ways.")
    through(udp((A, 4000), b), a, (B, 5000))
    through(udp((B, 5000), a), b, (A, 4000))
    test.say("A new mapping is made on the way.")
    through(udp((A, 4004), b), test.nat.external(17, A, 4004), (B, 5000))
    test.say("To itself.")
    through(udp((A, 4000), a), a, (A, 4000))
    test.say("TCP.")
    b_tcp = out(test, tcp((B, 5000), outside, "S"))
    a_tcp = test.nat.external(6, A, 4000)
    through(tcp((A, 4000), b_tcp, "S"), a_tcp, (B, 5000))
    through(tcp((B, 5000), a_tcp, "SA", ack=1001), b_tcp, (A, 4000))
    through(tcp((A, 4000), b_tcp, "A", 1001, 1001), a_tcp, (B, 5000))
    test.say("An ICMP error about a hairpinned packet.")
    packet = udp((A, 4000), b)
    received = aged(translated(packet, source=a, destination=(B, 5000)), 60)
    error = icmp_error(B, a[0], received)
    reported = icmp_error(b[0], A, aged(packet, 60))
    reported.ttl = error.ttl - 1
    test.through(INSIDE, FROM_IN / error, INSIDE, TO_IN / reported)
    test.say("No such mapping.")
    test.packet(INSIDE, FROM_IN / udp((A, 4000), (POOL[0], 9999)))
    drops(test, "mapping", 1)
    test.say("With filtering the other one must have sent first.")
    test.run(behaviour(ADDRESS_AND_PORT))
    test.packet(INSIDE, FROM_IN / udp((A, 4000), b))
    drops(test, "filtered", 1)
    through(udp((B, 5000), a), b, (A, 4000))
    through(udp((A, 4000), b), a, (B, 5000))
    return test


def time_outs():
    test = setup("time_outs", "How long mappings stay: UDP 300 s, ICMP 60 s, TCP 240 s and 7,440 s.")
    time_outs_without_connection(test)
    time_outs_of_ends(test)
    time_outs_of_resets(test)
    time_outs_of_opening(test)
    return test


def connect(test, remote):
    """A connection of port 4000 of `A`; returns its external endpoint."""
    external = out(test, tcp((A, 4000), remote, "S"))
    back(test, tcp(remote, external, "SA", ack=1001), (A, 4000))
    out(test, tcp((A, 4000), remote, "A", 1001, 1001))
    return external


def time_outs_without_connection(test):
    test.say("UDP: packets of either direction keep the mapping.")
    external = out(test, udp((A, 4000), WEB))
    for _ in range(2):
        test.run(f"wait {UDP_S - 20}")
        out(test, udp((A, 4000), WEB))
        test.run(f"wait {UDP_S - 20}")
        back(test, udp(WEB, external), (A, 4000))
    test.run(f"wait {UDP_S + 2}", "check_entries outbound 0", "check_entries inbound 0")
    test.nat.end_mappings()
    test.packet(OUTSIDE, FROM_OUT / udp(WEB, external))
    test.say("ICMP.")
    external = out(test, ping(A, SERVER, 4000))
    test.run(f"wait {ICMP_S - 5}")
    back(test, ping(SERVER, external[0], external[1], "echo-reply"), (A, 4000))
    test.run(f"wait {ICMP_S + 2}", "check_entries outbound 0")
    test.nat.end_mappings()
    test.say("TCP: a SYN that nobody answers.")
    out(test, tcp((A, 4000), WEB, "S"))
    test.run(f"wait {TRANSITORY - 5}", "check_entries outbound 1", "wait 10", "check_entries outbound 0")
    test.nat.end_mappings()


def time_outs_of_ends(test):
    test.say("An established connection.")
    external = connect(test, WEB)
    test.run(f"wait {ESTABLISHED - 20}")
    back(test, tcp(WEB, external, "PA", 1001, 1001, b"late"), (A, 4000))
    test.run(f"wait {ESTABLISHED - 20}")
    out(test, tcp((A, 4000), WEB, "FA", 1001, 1005))
    test.say("It closes.")
    back(test, tcp(WEB, external, "FA", 1005, 1002), (A, 4000))
    out(test, tcp((A, 4000), WEB, "A", 1002, 1006))
    test.run(f"wait {TRANSITORY - 5}", "check_entries outbound 1", "wait 10", "check_entries outbound 0")
    test.nat.end_mappings()
    test.say("One FIN does not shorten the time: the other side may go on, for hours. The second one does.")
    for first_flags in ("inside", "outside"):
        external = connect(test, WEB)
        if first_flags == "inside":
            out(test, tcp((A, 4000), WEB, "FA", 1001, 1001))
            back(test, tcp(WEB, external, "A", 1001, 1002), (A, 4000))
        else:
            back(test, tcp(WEB, external, "FA", 1001, 1001), (A, 4000))
            out(test, tcp((A, 4000), WEB, "A", 1001, 1002))
        test.run(f"wait {ESTABLISHED - 20}", "check_entries outbound 1")
        if first_flags == "inside":
            back(test, tcp(WEB, external, "FA", 1001, 1002), (A, 4000))
        else:
            out(test, tcp((A, 4000), WEB, "FA", 1001, 1002))
        test.run("wait 250", "check_entries outbound 0")
        test.nat.end_mappings()


def time_outs_of_resets(test):
    test.say("A reset that is followed by other segments, from inside or from outside, has ended nothing.")
    for goes_on in ("inside", "outside"):
        external = connect(test, WEB)
        back(test, tcp(WEB, external, "R"), (A, 4000))
        test.run("wait 200")
        if goes_on == "inside":
            out(test, tcp((A, 4000), WEB, "PA", 1001, 1001, b"still there"))
        else:
            back(test, tcp(WEB, external, "PA", 1001, 1001, b"still there"), (A, 4000))
        test.run(f"wait {ESTABLISHED - 20}", "check_entries outbound 1", "wait 40", "check_entries outbound 0")
        test.nat.end_mappings()
    test.say("It is reset by the other end. A reset by somebody else changes nothing.")
    external = connect(test, WEB)
    back(test, tcp(WEB_TOO, external, "R"), (A, 4000))
    test.run("wait 300", "check_entries outbound 1")
    back(test, tcp(WEB, external, "RA"), (A, 4000))
    test.run("wait 250", "check_entries outbound 0")
    test.nat.end_mappings()
    test.say("A port that is used again at once, for the same endpoint and for another one.")
    for remote in (WEB, WEB_TOO):
        external = connect(test, remote)
        out(test, tcp((A, 4000), remote, "FA", 1001, 1001))
        back(test, tcp(remote, external, "FA", 1001, 1002), (A, 4000))
    connect(test, WEB)
    test.run("wait 300", "check_entries outbound 1")
    out(test, tcp((A, 4000), WEB, "R", 1001))
    test.run("wait 250", "check_entries outbound 0")
    test.nat.end_mappings()
    test.say("Two connections of one mapping: the end of one does not shorten the other.")
    connect(test, WEB)
    external = connect(test, WEB_TOO)
    out(test, tcp((A, 4000), WEB, "R", 1001))
    test.run("wait 300")
    back(test, tcp(WEB_TOO, external, "PA", 1001, 1001, b"still there"), (A, 4000))
    test.run(f"wait {ESTABLISHED + 20}", "check_entries outbound 0")
    test.nat.end_mappings()


def time_outs_of_opening(test):
    test.say("A connection from outside, which the inside accepts.")
    external = out(test, tcp((A, 6000), WEB, "S"))
    back(test, tcp(WEB_TOO, external, "S"), (A, 6000))
    out(test, tcp((A, 6000), WEB_TOO, "SA", ack=1001))
    back(test, tcp(WEB_TOO, external, "A", 1001, 1001), (A, 6000))
    test.run("wait 300")
    back(test, tcp(WEB_TOO, external, "PA", 1001, 1001, b"hello"), (A, 6000))
    test.run(f"wait {ESTABLISHED + 20}", "check_entries outbound 0")
    test.nat.end_mappings()
    test.say("Simultaneous open: both send a SYN, and both answer.")
    external = out(test, tcp((A, 6000), WEB, "S"))
    back(test, tcp(WEB, external, "S"), (A, 6000))
    out(test, tcp((A, 6000), WEB, "SA", ack=1001))
    back(test, tcp(WEB, external, "SA", ack=1001), (A, 6000))
    test.run("wait 300", "check_entries outbound 1", f"wait {ESTABLISHED - 280}", "check_entries outbound 0")
    test.nat.end_mappings()
    test.say("The answer from outside comes first.")
    external = out(test, tcp((A, 6000), WEB, "S"))
    back(test, tcp(WEB, external, "S"), (A, 6000))
    back(test, tcp(WEB, external, "SA", ack=1001), (A, 6000))
    out(test, tcp((A, 6000), WEB, "SA", ack=1001))
    test.run("wait 300", "check_entries outbound 1", f"wait {ESTABLISHED - 280}", "check_entries outbound 0")
    test.nat.end_mappings()
    test.say("SYNs from outside do not keep a mapping as long as a connection.")
    external = out(test, tcp((A, 6000), WEB, "S"))
    back(test, tcp(WEB_TOO, external, "S"), (A, 6000))
    back(test, tcp(WEB_TOO, external, "A", 1001, 1001), (A, 6000))
    test.run("wait 250", "check_entries outbound 0")
    test.nat.end_mappings()


def limits():
    test = setup(
        "limits",
        "A block of two ports: what a subscriber gets is limited, for each protocol.",
        "-D BLOCK_BITS=1",
        nat=Nat(bits=1),
    )
    web = (SERVER, 443)
    out(test, udp((A, 4000), web))
    test.say(
        "A second even port is refused: the sender is told, and the mapping that is there stays (RFC 6888 REQ-11)."
    )
    refused = udp((A, 4002), web)
    test.packet(INSIDE, FROM_IN / refused)
    test.expect(INSIDE, TO_IN / own_error(GATEWAY, refused, 3, 1))
    drops(test, "port", 1)
    out(test, udp((A, 4000), web))
    test.say("Odd ones have a port of their own, and so has TCP. Another subscriber has another block.")
    out(test, udp((A, 4001), web))
    out(test, tcp((A, 4002), web, "S"))
    out(test, udp((B, 4002), web))
    test.say("The port is looked at again when a mapping that is not used any more has ended.")
    test.run(f"wait {UDP_S + 20}")
    test.nat.end_mappings()
    out(test, udp((A, 4002), web))
    return test


def blocks():
    test = setup(
        "blocks",
        "A pool of one block: the second subscriber waits until the first one's ends.",
        "-D BLOCK_BITS=15",
        nat=Nat(15, 1),
    )
    test.run(f"add pools inside:{number('10.0.0.0')}/24 use_addresses(first:0, count:1)")
    web = (SERVER, 443)
    out(test, udp((A, 4000), web))
    refused = udp((B, 4000), web)
    test.packet(INSIDE, FROM_IN / refused)
    test.expect(INSIDE, TO_IN / own_error(GATEWAY, refused, 3, 1))
    drops(test, "block", 1)
    test.say("A mapping ends before its block.")
    test.run("wait 7000", "check_entries outbound 0", "check_entries blocks 1")
    test.nat.end_mappings()
    out(test, udp((A, 4000), web))
    test.run("wait 7000")
    test.packet(INSIDE, FROM_IN / refused)
    test.expect(INSIDE, TO_IN / own_error(GATEWAY, refused, 3, 1))
    test.run("wait 8000", "check_entries blocks 0", "check_entries subscribers 0")
    test.nat.end_blocks()
    out(test, udp((B, 4000), web))
    test.say("Inside addresses without a pool.")
    refused = udp(("172.16.0.1", 4000), web)
    test.packet(INSIDE, FROM_IN / refused)
    test.expect(INSIDE, TO_IN / own_error(GATEWAY, refused, 3, 1))
    drops(test, "pool", 1)
    return test


def own_error(source, about, kind, code, mtu=0):
    """An error that the NAT sends itself."""
    fields = {"nexthopmtu": mtu} if mtu else {}
    header = IP(src=source, dst=about.src, tos=0xC0, id=0, ttl=64)
    return header / ICMP(type=kind, code=code, **fields) / Raw(bytes(about)[:28])


def own_errors():
    test = setup("own_errors", "ICMP errors that the NAT sends itself: time exceeded, fragmentation needed.")
    web = (SERVER, 443)
    test.say("The NAT is a hop for traceroute, from inside and from outside.")
    for packet in (
        udp((A, 4000), web, ttl=1),
        IP(src=A, dst=SERVER, ttl=1) / TCP(sport=4000, dport=443, flags="S"),
        IP(src=A, dst=SERVER, ttl=1) / ICMP(id=1) / DATA,
    ):
        test.packet(INSIDE, FROM_IN / packet)
        test.expect(INSIDE, TO_IN / own_error(GATEWAY, packet, 11, 0))
    packet = udp(web, (POOL[0], 4000), ttl=1)
    test.packet(OUTSIDE, FROM_OUT / packet)
    test.expect(OUTSIDE, TO_OUT / own_error(OUTSIDE_ADDR, packet, 11, 0))
    drops(test, "ttl", 4)
    test.say("No mapping was made.")
    test.run("check_entries outbound 0")
    test.nat.end_mappings()
    test.say("Longer than the MTU with DF: the sender is told (RFC 4787 REQ-13). Without DF: a counted drop.")
    long = Raw(bytes(1473))
    packet = udp((A, 4000), web, data=long, flags="DF")
    test.packet(INSIDE, FROM_IN / packet)
    test.expect(INSIDE, TO_IN / own_error(GATEWAY, packet, 3, 4, 1500))
    test.packet(INSIDE, FROM_IN / udp((A, 4000), web, data=long))
    drops(test, "long", 2)
    test.say("None about a packet that a mapping delivers to no host inside.")
    test.run(
        f"add inbound protocol:17 external:{number(POOL[0])} port:80 deliver_static(addr:{number(GATEWAY)}, port:80)"
    )
    test.packet(OUTSIDE, FROM_OUT / udp(web, (POOL[0], 80), flags="DF"))
    drops(test, "route", 1)
    test.say("Never about errors, later fragments, or to multicast addresses.")
    test.packet(
        INSIDE,
        FROM_IN
        / icmp_error(A, SERVER, udp(web, (A, 9)), kind=3, code=3).__class__(
            bytes(IP(src=A, dst=SERVER, ttl=1) / ICMP(type=3, code=3) / Raw(bytes(udp(web, (A, 9)))[:28]))
        ),
    )
    test.packet(INSIDE, FROM_IN / IP(src=A, dst=SERVER, ttl=1, frag=10, proto=17) / DATA)
    test.packet(INSIDE, FROM_IN / udp((A, 4000), ("224.0.0.9", 520), ttl=1))
    test.packet(INSIDE, FROM_IN / udp(("127.0.0.1", 4000), web, ttl=1))
    drops(test, "ttl", 6)
    drops(test, "address", 2)
    test.say("Not more than the meter lets through.")
    test.run("meter_set_rates error_rate 0 0.000001:1 0.000001:1")
    packet = udp((A, 4000), web, ttl=1)
    test.packet(INSIDE, FROM_IN / packet)
    test.expect(INSIDE, TO_IN / own_error(GATEWAY, packet, 11, 0))
    for _ in range(3):
        test.packet(INSIDE, FROM_IN / packet)
    drops(test, "ttl", 10)
    return test


def fragments():
    test = setup(
        "fragments",
        "Fragments: the first one has the ports, the later ones follow it by addresses, protocol and identification.",
    )
    web = (SERVER, 443)
    data = Raw(bytes(index % 251 for index in range(3000)))

    def pieces(packet):
        packet = packet.copy()
        packet.id = 0x1234
        return fragment(IP(bytes(packet)), 1400)

    test.say("From inside and from outside, in order.")
    whole = udp((A, 4000), web, data=data)
    external = test.nat.of(whole)
    for piece, expected in zip(pieces(whole), pieces(translated(whole, source=external)), strict=True):
        test.through(INSIDE, FROM_IN / piece, OUTSIDE, TO_OUT / expected)
    whole = udp(web, external, data=data)
    for piece, expected in zip(pieces(whole), pieces(translated(whole, destination=(A, 4000))), strict=True):
        test.through(OUTSIDE, FROM_OUT / piece, INSIDE, TO_IN / expected)
    test.say("Hairpinned.")
    b = out(test, udp((B, 5000), web))
    whole = udp((A, 4000), b, data=data)
    for piece, expected in zip(
        pieces(whole), pieces(translated(whole, source=external, destination=(B, 5000))), strict=True
    ):
        test.through(INSIDE, FROM_IN / piece, INSIDE, TO_IN / expected)
    test.say("The first one twice, and one of another datagram with the same identification.")
    for port in (4000, 4002):
        whole = udp((A, port), web, data=data)
        external_now = test.nat.of(whole)
        first, result = pieces(whole)[0], pieces(translated(whole, source=external_now))[0]
        test.through(INSIDE, FROM_IN / first, OUTSIDE, TO_OUT / result)
    test.say("Datagrams with one identification to two subscribers behind one address, again and again: each follows its first fragment.")
    c = out(test, udp((C, 6000), web))
    assert c[0] == external[0]
    for endpoint, inside in ((c, (C, 6000)), (external, (A, 4000)), (c, (C, 6000))):
        whole = udp(web, endpoint, data=data)
        for piece, expected in zip(pieces(whole), pieces(translated(whole, destination=inside)), strict=True):
            test.through(OUTSIDE, FROM_OUT / piece, INSIDE, TO_IN / expected)
    test.say("A later one before the first: dropped. So is one of a datagram that nobody knows.")
    whole = udp((A, 4000), (OTHER, 443), data=data)
    first, second, third = pieces(whole)
    results = pieces(translated(whole, source=external))
    test.packet(INSIDE, FROM_IN / second)
    test.through(INSIDE, FROM_IN / first, OUTSIDE, TO_OUT / results[0])
    test.through(INSIDE, FROM_IN / third, OUTSIDE, TO_OUT / results[2])
    drops(test, "fragment", 1)
    test.say("They are remembered for 30 seconds.")
    test.run("wait 32", "check_entries fragments 0")
    test.packet(INSIDE, FROM_IN / third)
    drops(test, "fragment", 2)
    test.say("A first fragment too short for its ports.")
    test.packet(INSIDE, FROM_IN / IP(src=A, dst=SERVER, flags="MF", proto=17) / Raw(b"\x0f\xa0"))
    drops(test, "malformed", 1)
    return test


def others():
    test = setup(
        "others",
        "What is not translated: ARP, pings to the NAT, other protocols, untranslated destinations, wrong packets.",
    )
    web = (SERVER, 443)
    test.say("ARP for the gateway and for external addresses.")
    for port, address, router, own in (
        (INSIDE, GATEWAY, ROUTER_IN, NAT_IN),
        (OUTSIDE, OUTSIDE_ADDR, ROUTER_OUT, NAT_OUT),
        (OUTSIDE, POOL[1], ROUTER_OUT, NAT_OUT),
    ):
        who = "10.0.0.2" if port == INSIDE else "192.0.2.2"
        ask = Ether(src=router, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=router, psrc=who, pdst=address)
        answer = Ether(src=own, dst=router) / ARP(op=2, hwsrc=own, psrc=address, hwdst=router, pdst=who)
        test.through(port, ask, port, answer)
    test.packet(
        OUTSIDE,
        Ether(src=ROUTER_OUT, dst="ff:ff:ff:ff:ff:ff") / ARP(hwsrc=ROUTER_OUT, psrc="192.0.2.2", pdst="192.0.2.9"),
    )
    test.packet(INSIDE, FROM_IN / IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP())
    drops(test, "not_ipv4", 2)
    test.say("Pings to the NAT.")
    for port, ether, reply, source, own in (
        (INSIDE, FROM_IN, TO_IN, A, GATEWAY),
        (OUTSIDE, FROM_OUT, TO_OUT, SERVER, OUTSIDE_ADDR),
    ):
        test.through(port, ether / ping(source, own, 5), port, reply / ping(own, source, 5, "echo-reply"))
    test.packet(OUTSIDE, FROM_OUT / tcp(web, (OUTSIDE_ADDR, 22), "S"))
    drops(test, "own", 1)
    test.say(
        "Destinations without translation (RFC 6888 REQ-6), and their answers. Others from outside do not reach inside addresses."
    )
    packet = udp((A, 4000), ("198.51.100.7", 53))
    plain = packet.copy()
    plain.ttl -= 1
    test.through(INSIDE, FROM_IN / packet, OUTSIDE, TO_OUT / plain)
    packet = udp(("198.51.100.7", 53), (A, 4000))
    plain = packet.copy()
    plain.ttl -= 1
    test.through(OUTSIDE, FROM_OUT / packet, INSIDE, TO_IN / plain)
    test.packet(OUTSIDE, FROM_OUT / udp(web, (A, 4000)))
    test.packet(OUTSIDE, FROM_OUT / udp((B, 1), (A, 4000)))
    test.packet(OUTSIDE, FROM_OUT / udp(web, OTHER_ENDPOINT))
    drops(test, "mapping", 3)
    test.say("Inside to inside as it is.")
    packet = udp((A, 4000), (C, 4000))
    plain = packet.copy()
    plain.ttl -= 1
    test.through(INSIDE, FROM_IN / packet, INSIDE, TO_IN / plain)
    test.run("check_entries outbound 0")
    test.nat.end_mappings()
    test.say("Other protocols, replies that nobody asked for, redirects.")
    test.packet(INSIDE, FROM_IN / IP(src=A, dst=SERVER) / GRE() / IP() / UDP())
    test.packet(INSIDE, FROM_IN / ping(A, SERVER, 1, "echo-reply"))
    test.packet(INSIDE, FROM_IN / IP(src=A, dst=SERVER) / ICMP(type=5) / Raw(bytes(udp((A, 1), web))[:28]))
    drops(test, "protocol", 3)
    test.say("For another station, by an unknown port, to nowhere, with wrong checksums.")
    test.packet(INSIDE, Ether(src=ROUTER_IN, dst="02:00:00:00:00:99") / udp((A, 4000), web))
    test.packet(7, FROM_IN / udp((A, 4000), web))
    drops(test, "interface", 2)
    test.say("Addresses that no router forwards.")
    for address in ADDRESSES_IPV4:
        test.packet(INSIDE, FROM_IN / udp((A, 4000), (address, 443)))
        test.packet(OUTSIDE, FROM_OUT / udp((address, 443), test.nat.external(17, A, 4000)))
    drops(test, "address", 2 * len(ADDRESSES_IPV4))
    wrong = udp((A, 4000), web)
    wrong.chksum = 1
    test.packet(INSIDE, FROM_IN / wrong)
    test.packet(INSIDE, bytes(FROM_IN / udp((A, 4000), web))[:36])
    test.packet(INSIDE, FROM_IN / IP(src=A, dst=SERVER, version=6, ihl=5) / UDP())
    drops(test, "malformed", 3)
    test.say("A wrong UDP checksum stays wrong by as much.")
    external = test.nat.external(17, A, 4000)
    right = translated(udp((A, 4000), web), source=external)
    packet, expected = udp((A, 4000), web), IP(bytes(right))
    packet = IP(bytes(packet))
    packet[UDP].chksum = (packet[UDP].chksum + 0x11) & 0xFFFF
    expected[UDP].chksum = (expected[UDP].chksum + 0x11) & 0xFFFF
    test.through(INSIDE, FROM_IN / packet, OUTSIDE, TO_OUT / expected)
    return test


def malformed():
    test = setup("malformed", "Packets whose lengths do not agree, or whose header checksum is wrong, are dropped and learn nothing.")
    wrong = network_ipv4(A, SERVER) | transport_ipv4(A, SERVER)
    for what, packet in wrong.items():
        test.say(f"{what[0].upper()}{what[1:]}.")
        test.packet(INSIDE, bytes(Ether(src=ROUTER_IN, dst=NAT_IN, type=0x800)) + bytes(packet))
    test.say("An ICMP error that ends before the ports of the packet that it is about.")
    external = out(test, udp((A, 4000), (SERVER, 443)))
    sent = translated(udp((A, 4000), (SERVER, 443)), source=external)
    error = icmp_error(OTHER, sent.src, aged(sent, 50))
    error.len = 20 + 8 + 24
    test.packet(OUTSIDE, FROM_OUT / error)
    drops(test, "malformed", len(wrong) + 1)
    test.run("check_entries outbound 1")
    test.say("Padding of Ethernet is no part of the packet. A first fragment has a part of its datagram alone.")
    short = udp((A, 4000), (SERVER, 443), Raw(b"x"))
    test.through(
        INSIDE, bytes(FROM_IN / short) + bytes(17), OUTSIDE, bytes(TO_OUT / translated(short, source=external)) + bytes(17)
    )
    return test


OTHER_ENDPOINT = ("198.18.0.99", 1)


def main():
    return write(
        [
            mappings(),
            filtering(),
            errors(),
            hairpin(),
            time_outs(),
            limits(),
            blocks(),
            own_errors(),
            fragments(),
            others(),
            malformed(),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
