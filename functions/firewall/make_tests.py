#!/usr/bin/env python3
"""Writes the STF tests of firewall.p4. The packets are made by scapy.

    make_tests.py [--check]

Needs scapy from PyPI.
"""

import ipaddress
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import with_scapy  # noqa: F401
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP, fragment
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    ICMPv6NDOptUnknown,
    ICMPv6PacketTooBig,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.layers.l2 import ARP, GRE, Ether
from scapy.packet import Raw
from stf import Test, write
from wrong import ADDRESSES_IPV4, ADDRESSES_IPV6, network_ipv4, network_ipv6, transport_ipv4, transport_ipv6

INSIDE, OUTSIDE, SERVERS = 1, 2, 3
HOST, HOST_V6 = "10.1.0.5", "2001:db8:1::5"
FAR, FAR_V6, OTHER = "198.18.0.10", "2001:db8:ffff::10", "198.18.0.20"
WEB, WEB_V6 = "10.3.0.10", "2001:db8:3::a"
DATA = Raw(bytes(range(40)))
DROPS = [
    *("malformed", "not_ip", "interface", "route", "hops", "long", "own", "flags", "state", "connection"),
    *("unrelated", "spoofed", "policy", "rejected", "limited", "policed", "fragment", "address", "extensions"),
]


def arriving(port):
    return Ether(src=f"02:00:00:00:0{port}:02", dst=f"02:00:00:00:0{port}:01")


def leaving(port):
    return Ether(src=f"02:00:00:00:0{port}:01", dst=f"02:00:00:00:0{port}:02")


def number(address):
    return int(ipaddress.ip_address(address))


def setup(name, about, options="", without=(), entries=()):
    test = Test(HERE / f"firewall_{name}.stf", about, options)
    lines = (HERE / "entries.stf").read_text().splitlines()
    test.run(*(line for line in lines if not line.startswith("#") and not any(word in line for word in without)))
    test.run(*entries)
    return test


def drops(test, name, packets):
    test.counter("drops", DROPS.index(name), packets)


def passes(test, port_in, packet, port_out):
    """A packet that leaves as it came, one hop further."""
    further = packet.copy()
    if IP in packet and packet.version == 4:
        further.ttl -= 1
        del further.chksum
    else:
        further.hlim -= 1
    test.through(port_in, arriving(port_in) / packet, port_out, leaving(port_out) / further)


def refused(test, port, packet):
    test.packet(port, arriving(port) / packet)


def ip(source, destination, **fields):
    return (IPv6 if ":" in source else IP)(src=source, dst=destination, **fields)


def tcp(source, destination, flags, seq=1000, ack=0, data=b""):
    return (
        ip(source[0], destination[0])
        / TCP(sport=source[1], dport=destination[1], flags=flags, seq=seq, ack=ack)
        / Raw(data)
    )


def udp(source, destination, data=DATA, **fields):
    return ip(source[0], destination[0], **fields) / UDP(sport=source[1], dport=destination[1]) / data


def behind(packet, *headers):
    """An IPv6 packet with extension headers."""
    network = packet.copy()
    network.remove_payload()
    for header in headers:
        network = network / header.copy()
    return IPv6(bytes(network / packet.payload))


def connect(test, client_port, client, server_port, server):
    """A handshake."""
    passes(test, client_port, tcp(client, server, "S"), server_port)
    passes(test, server_port, tcp(server, client, "SA", ack=1001), client_port)
    passes(test, client_port, tcp(client, server, "A", 1001, 1001), server_port)


def connections():
    test = setup(
        "connections",
        "Connections of TCP, UDP, ICMP and other protocols, over IPv4 and IPv6: what is begun inside is answered.",
    )
    for host, far in ((HOST, FAR), (HOST_V6, FAR_V6)):
        client, server = (host, 4000), (far, 443)
        test.say(f"Over IPv{ipaddress.ip_address(host).version}.")
        refused(test, OUTSIDE, tcp(server, client, "S"))
        refused(test, OUTSIDE, udp(server, client))
        connect(test, INSIDE, client, OUTSIDE, server)
        passes(test, INSIDE, tcp(client, server, "PA", 1001, 1001, b"hello"), OUTSIDE)
        passes(test, OUTSIDE, tcp(server, client, "PA", 1001, 1006, b"hello"), INSIDE)
        passes(test, INSIDE, udp(client, server), OUTSIDE)
        passes(test, OUTSIDE, udp(server, client), INSIDE)
        test.say("Others do not get in with it: another port, another address, another zone.")
        refused(test, OUTSIDE, udp((far, 444), client))
        refused(test, OUTSIDE, udp(server, (host, 4001)))
        refused(test, SERVERS, udp(server, client))
    drops(test, "policy", 4 + 4)
    drops(test, "spoofed", 2)
    test.say("Pings: the answers to what was asked.")
    passes(test, INSIDE, IP(src=HOST, dst=FAR) / ICMP(id=7) / DATA, OUTSIDE)
    passes(test, OUTSIDE, IP(src=FAR, dst=HOST) / ICMP(type=0, id=7) / DATA, INSIDE)
    passes(test, INSIDE, IPv6(src=HOST_V6, dst=FAR_V6) / ICMPv6EchoRequest(id=7) / DATA, OUTSIDE)
    passes(test, OUTSIDE, IPv6(src=FAR_V6, dst=HOST_V6) / ICMPv6EchoReply(id=7) / DATA, INSIDE)
    refused(test, OUTSIDE, IP(src=FAR, dst=HOST) / ICMP(type=0, id=8) / DATA)
    refused(test, OUTSIDE, IP(src=FAR, dst=HOST) / ICMP(id=7) / DATA)
    refused(test, OUTSIDE, IPv6(src=FAR_V6, dst=HOST_V6) / ICMPv6EchoReply(id=8) / DATA)
    drops(test, "connection", 3)
    test.say("Other protocols, and IPv4 options.")
    passes(test, INSIDE, IP(src=HOST, dst=FAR, proto=47) / Raw(bytes(GRE() / DATA)), OUTSIDE)
    passes(test, OUTSIDE, IP(src=FAR, dst=HOST, proto=47) / Raw(bytes(GRE() / DATA)), INSIDE)
    refused(test, OUTSIDE, IP(src=FAR, dst=HOST, proto=50) / DATA)
    passes(test, INSIDE, udp((HOST, 4000), (FAR, 443), options=[IPOption_NOP()] * 4), OUTSIDE)
    drops(test, "policy", 9)
    test.run("check_entries connections_ipv4 8", "check_entries connections_ipv6 6")
    return test


def tcp_states():
    test = setup("tcp_states", "The states of TCP: what suits none of them is dropped; how long connections stay.")
    client, server = (HOST, 4000), (FAR, 443)
    test.say("No connection begins without a SYN.")
    for flags in ("A", "PA", "SA", "FA", "R"):
        refused(test, INSIDE, tcp(client, server, flags, ack=1))
    drops(test, "connection", 5)
    test.say("Flags that no TCP sends.")
    for flags in ("", "SF", "SR", "F", "FPU", "SFRPAU"):
        refused(test, INSIDE, tcp(client, server, flags))
    drops(test, "flags", 6)
    test.say("Data before the handshake; an answer that is none.")
    passes(test, INSIDE, tcp(client, server, "S"), OUTSIDE)
    passes(test, INSIDE, tcp(client, server, "S"), OUTSIDE)
    refused(test, INSIDE, tcp(client, server, "PA", 1001, 1, b"early"))
    refused(test, OUTSIDE, tcp(server, client, "A", ack=1001))
    refused(test, OUTSIDE, tcp(server, client, "PA", ack=1001, data=b"early"))
    drops(test, "state", 3)
    passes(test, OUTSIDE, tcp(server, client, "SA", ack=1001), INSIDE)
    passes(test, OUTSIDE, tcp(server, client, "SA", ack=1001), INSIDE)
    passes(test, INSIDE, tcp(client, server, "A", 1001, 1001), OUTSIDE)
    test.say("An established connection stays for 7,440 s without a packet.")
    test.run("wait 7400")
    passes(test, OUTSIDE, tcp(server, client, "PA", 1001, 1001, b"late"), INSIDE)
    test.say("One side closes; the other one goes on, and closes later.")
    passes(test, INSIDE, tcp(client, server, "FA", 1001, 1005), OUTSIDE)
    test.run("wait 300")
    passes(test, OUTSIDE, tcp(server, client, "PA", 1005, 1002, b"more"), INSIDE)
    passes(test, OUTSIDE, tcp(server, client, "FA", 1009, 1002), INSIDE)
    passes(test, INSIDE, tcp(client, server, "A", 1002, 1010), OUTSIDE)
    test.run("wait 58", "check_entries connections_ipv4 2", "wait 5", "check_entries connections_ipv4 0")
    refused(test, OUTSIDE, tcp(server, client, "PA", 1010, 1002, b"too late"))
    drops(test, "connection", 6)
    test.say("The same ports again at once: through the policy, as a new connection.")
    connect(test, INSIDE, client, OUTSIDE, server)
    passes(test, OUTSIDE, tcp(server, client, "R", 1001), INSIDE)
    connect(test, INSIDE, client, OUTSIDE, server)
    test.run("wait 300", "check_entries connections_ipv4 2")
    passes(test, INSIDE, tcp(client, server, "R", 1001), OUTSIDE)
    test.run("wait 62", "check_entries connections_ipv4 0")
    test.say("A SYN that nobody answers, and one that is refused.")
    passes(test, INSIDE, tcp(client, server, "S"), OUTSIDE)
    test.run("wait 62", "check_entries connections_ipv4 0")
    passes(test, INSIDE, tcp(client, server, "S"), OUTSIDE)
    passes(test, OUTSIDE, tcp(server, client, "RA", ack=1001), INSIDE)
    test.say("After the reset no answer to the SYN passes.")
    refused(test, OUTSIDE, tcp(server, client, "SA", ack=1001))
    refused(test, OUTSIDE, tcp(server, client, "S"))
    drops(test, "state", 5)
    test.run("wait 62", "check_entries connections_ipv4 0")
    test.say("UDP: 30 s before an answer, 180 s behind one. ICMP: 30 s.")
    passes(test, INSIDE, udp(client, server), OUTSIDE)
    test.run("wait 32", "check_entries connections_ipv4 0")
    passes(test, INSIDE, udp(client, server), OUTSIDE)
    passes(test, OUTSIDE, udp(server, client), INSIDE)
    test.run("wait 178", "check_entries connections_ipv4 2", "wait 4", "check_entries connections_ipv4 0")
    passes(test, INSIDE, IP(src=HOST, dst=FAR) / ICMP(id=7) / DATA, OUTSIDE)
    test.run("wait 32", "check_entries connections_ipv4 0")
    return test


def lost_states():
    test = setup(
        "lost_states",
        "States of connections that share a place (there is one): the one that has lost it passes all the same.",
        "-D PLACES=1",
    )
    first, second, server = (HOST, 4000), (HOST, 4001), (FAR, 443)
    connect(test, INSIDE, first, OUTSIDE, server)
    connect(test, INSIDE, second, OUTSIDE, server)
    passes(test, INSIDE, tcp(first, server, "PA", 1001, 1001, b"hello"), OUTSIDE)
    passes(test, OUTSIDE, tcp(server, first, "FA", 1001, 1006), INSIDE)
    passes(test, INSIDE, tcp(first, server, "FA", 1006, 1002), OUTSIDE)
    test.say("It keeps the time that it had, and does not disturb the other one.")
    test.run("wait 7000", "check_entries connections_ipv4 4")
    passes(test, OUTSIDE, tcp(server, second, "R", 1001), INSIDE)
    test.run("wait 70", "check_entries connections_ipv4 2")
    return test


def policies():
    test = setup(
        "policies",
        "Policies between zones, rules with counters, rejections. What nothing allows is dropped.",
        without=("limiter",),
        entries=[
            f"add rules_ipv4 20 from:2 to:3 destination:{number(WEB)} protocol:6 port:80->81 allow(policer:0) = web",
            "add rules_ipv4 30 from:2 to:3 source:0xC6120063&&&0xFFFFFFFF deny(told:1) = evil",
            "add rules_ipv4 5 from:2 to:3 protocol:17 source_port:1024->65535 port:53 allow(policer:0)",
        ],
    )
    test.say("By port, in the range or not.")
    connect(test, OUTSIDE, (FAR, 5000), SERVERS, (WEB, 80))
    connect(test, OUTSIDE, (FAR, 5000), SERVERS, (WEB, 81))
    refused(test, OUTSIDE, tcp((FAR, 5000), (WEB, 82), "S"))
    refused(test, OUTSIDE, tcp((FAR, 5000), ("10.3.0.11", 80), "S"))
    test.counter("hits_ipv4", "web", 2)
    passes(test, OUTSIDE, udp((FAR, 1024), (WEB, 53)), SERVERS)
    refused(test, OUTSIDE, udp((FAR, 1023), (WEB, 53)))
    drops(test, "policy", 3)
    test.say("The rule with the larger priority wins.")
    refused(test, OUTSIDE, tcp(("198.18.0.99", 5000), (WEB, 80), "S"))
    test.counter("hits_ipv4", "evil", 1)
    drops(test, "policy", 4)
    test.say("A rejected packet is told so (RFC 1812 §5.2.7.1, code 13).")
    packet = tcp((FAR, 5000), (WEB, 113), "S")
    test.packet(OUTSIDE, arriving(OUTSIDE) / packet)
    error = IP(src="192.0.2.1", dst=FAR, tos=0xC0, id=0) / ICMP(type=3, code=13) / Raw(bytes(packet)[:28])
    test.expect(OUTSIDE, leaving(OUTSIDE) / error)
    drops(test, "rejected", 1)
    test.say("IPv6.")
    connect(test, OUTSIDE, (FAR_V6, 5000), SERVERS, (WEB_V6, 80))
    refused(test, OUTSIDE, tcp((FAR_V6, 5000), (WEB_V6, 81), "S"))
    drops(test, "policy", 5)
    test.say("Between zones without a policy nothing passes, though both are reached from inside.")
    refused(test, SERVERS, tcp((WEB, 5000), (FAR, 80), "S"))
    refused(test, SERVERS, tcp((WEB, 5000), (HOST, 80), "S"))
    drops(test, "policy", 7)
    test.say("Within a zone neither.")
    refused(test, OUTSIDE, udp((FAR, 1), (OTHER, 2)))
    drops(test, "policy", 8)
    test.say("Sources that are not behind the interface.")
    refused(test, OUTSIDE, udp((HOST, 1), (WEB, 53)))
    refused(test, INSIDE, udp((FAR, 1), (WEB, 53)))
    drops(test, "spoofed", 2)
    test.say("A policy that changes is for new connections.")
    test.run("delete policies from:1 to:2")
    refused(test, INSIDE, tcp((HOST, 6000), (FAR, 443), "S"))
    drops(test, "policy", 9)
    return test


def limits():
    test = setup(
        "limits",
        "Limits of new connections, and of traffic.",
        without=("limiter",),
        entries=[
            f"add rules_ipv4 20 from:2 to:3 destination:{number(WEB)} protocol:6 port:80 "
            "allow_limited(policer:0, limiter:1, interval:1000000, burst:2000000)",
            f"add rules_ipv4 20 from:2 to:3 destination:{number(WEB)} protocol:17 allow(policer:2)",
            "meter_set_rates policers 2 0.0001:200 0.0001:200",
        ],
    )
    test.say("One new connection a second, three at once. The packets of those that are there do not count.")
    for port in (5000, 5001, 5002):
        connect(test, OUTSIDE, (FAR, port), SERVERS, (WEB, 80))
    refused(test, OUTSIDE, tcp((FAR, 5003), (WEB, 80), "S"))
    refused(test, OUTSIDE, tcp((OTHER, 5000), (WEB, 80), "S"))
    drops(test, "limited", 2)
    passes(test, OUTSIDE, tcp((FAR, 5000), (WEB, 80), "PA", 1001, 1001, b"GET"), SERVERS)
    test.run("wait 2")
    connect(test, OUTSIDE, (FAR, 5003), SERVERS, (WEB, 80))
    connect(test, OUTSIDE, (FAR, 5004), SERVERS, (WEB, 80))
    connect(test, OUTSIDE, (FAR, 5005), SERVERS, (WEB, 80))
    refused(test, OUTSIDE, tcp((FAR, 5006), (WEB, 80), "S"))
    drops(test, "limited", 3)
    test.say("A time that was saved before the switch started again, when its clock had counted for 30 days.")
    test.run(f"register_write next_times 1 {30 * 86_400 * 1_000_000}")
    for port in (5007, 5008, 5009):
        connect(test, OUTSIDE, (FAR, port), SERVERS, (WEB, 80))
    refused(test, OUTSIDE, tcp((FAR, 5010), (WEB, 80), "S"))
    drops(test, "limited", 4)
    test.say("Traffic: both directions of a connection have one meter.")
    passes(test, OUTSIDE, udp((FAR, 5000), (WEB, 53)), SERVERS)
    passes(test, SERVERS, udp((WEB, 53), (FAR, 5000)), OUTSIDE)
    refused(test, OUTSIDE, udp((FAR, 5000), (WEB, 53)))
    refused(test, SERVERS, udp((WEB, 53), (FAR, 5000)))
    drops(test, "policed", 2)
    test.say("Later fragments count, too.")
    test.run("wait 3")
    first, *later = fragment(IP(bytes(udp((FAR, 5000), (WEB, 53), data=Raw(bytes(300))))), 100)
    passes(test, OUTSIDE, first, SERVERS)
    refused(test, OUTSIDE, later[0])
    drops(test, "policed", 3)
    test.run("wait 3")
    passes(test, OUTSIDE, later[1], SERVERS)
    return test


def icmp_error(source, destination, about, kind=3, code=3, quoted=28):
    return IP(src=source, dst=destination) / ICMP(type=kind, code=code) / Raw(bytes(about)[:quoted])


def errors():
    test = setup("errors", "ICMP errors: those about packets of connections pass, to the sender of the packet.")
    client, server = (HOST, 4000), (FAR, 443)
    packets = (udp(client, server), tcp(client, server, "S"), IP(src=HOST, dst=FAR) / ICMP(id=7) / DATA)
    for packet in packets:
        passes(test, INSIDE, packet, OUTSIDE)
        passes(test, OUTSIDE, icmp_error(FAR, HOST, packet), INSIDE)
        passes(test, OUTSIDE, icmp_error("198.18.9.9", HOST, packet, kind=11, code=0), INSIDE)
        passes(test, OUTSIDE, icmp_error("198.18.9.9", HOST, packet, kind=3, code=4), INSIDE)
    answer = udp(server, client)
    passes(test, OUTSIDE, answer, INSIDE)
    passes(test, INSIDE, icmp_error(HOST, FAR, answer), OUTSIDE)
    test.say("About what nobody has sent; to another host than the sender; from a zone where the packet did not go.")
    refused(test, OUTSIDE, icmp_error(FAR, HOST, udp((HOST, 4001), server)))
    refused(test, OUTSIDE, icmp_error(FAR, "10.1.0.6", packets[0]))
    refused(test, OUTSIDE, icmp_error(FAR, WEB, packets[0]))
    refused(test, SERVERS, icmp_error(WEB, HOST, packets[0]))
    later = udp(client, server)
    later.frag = 10
    refused(test, OUTSIDE, icmp_error(FAR, HOST, later))
    drops(test, "unrelated", 4)
    test.say("IPv6: unreachable, packet too big.")
    packet = udp((HOST_V6, 4000), (FAR_V6, 443))
    passes(test, INSIDE, packet, OUTSIDE)
    for error in (ICMPv6DestUnreach(code=4), ICMPv6PacketTooBig(mtu=1400)):
        passes(test, OUTSIDE, IPv6(src="2001:db8:ffff::99", dst=HOST_V6) / error / Raw(bytes(packet)), INSIDE)
    refused(
        test, OUTSIDE, IPv6(src=FAR_V6, dst=HOST_V6) / ICMPv6DestUnreach() / Raw(bytes(udp((HOST_V6, 9), (FAR_V6, 9))))
    )
    drops(test, "unrelated", 5)
    test.say("Other ICMP: redirects, router advertisements.")
    refused(test, OUTSIDE, IP(src=FAR, dst=HOST) / ICMP(type=5) / Raw(bytes(packets[0])[:28]))
    refused(test, OUTSIDE, IPv6(src=FAR_V6, dst=HOST_V6) / ICMPv6ND_NA(tgt=FAR_V6))
    drops(test, "connection", 3)
    return test


def fragments():
    test = setup("fragments", "Fragments: later ones pass when the first one has.")
    whole = udp((HOST, 4000), (FAR, 443), data=Raw(bytes(3000)))
    whole.id = 0x1234
    first, second, third = fragment(IP(bytes(whole)), 1400)
    refused(test, INSIDE, second)
    for piece in (first, second, third):
        passes(test, INSIDE, piece, OUTSIDE)
    test.say("Not from elsewhere, not of a datagram whose first fragment was refused.")
    refused(test, OUTSIDE, second)
    refused_whole = udp((FAR, 4000), (HOST, 443), data=Raw(bytes(3000)))
    for piece in fragment(IP(bytes(refused_whole)), 1400):
        refused(test, OUTSIDE, piece)
    drops(test, "policy", 1)
    drops(test, "fragment", 4)
    test.say("Of IPv6: none.")
    refused(test, INSIDE, IPv6(src=HOST_V6, dst=FAR_V6) / IPv6ExtHdrFragment(nh=17, m=1) / DATA)
    drops(test, "fragment", 5)
    test.say("Of TCP none that would overwrite the flags of the header that was looked at (RFC 1858).")
    whole = tcp((HOST, 4000), (FAR, 443), "S", data=bytes(60))
    whole.id, whole.flags = 0x1235, 0
    first, later = fragment(IP(bytes(whole)), 40)
    passes(test, INSIDE, first, OUTSIDE)
    overlapping = later.copy()
    overlapping.frag = 1
    refused(test, INSIDE, overlapping)
    passes(test, INSIDE, later, OUTSIDE)
    drops(test, "fragment", 6)
    return test


def extensions():
    test = setup(
        "extensions",
        "What is behind IPv6 extension headers is looked at: up to four headers, each of up to 256 bytes.",
        without=("add rules_ipv6",),
        entries=[
            "add rules_ipv6 20 from:2 to:3 protocol:6 port:25 deny(told:0)",
            "add rules_ipv6 10 from:2 to:3 allow(policer:0)",
        ],
    )

    hops, options = IPv6ExtHdrHopByHop(), IPv6ExtHdrDestOpt()
    long = IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(252))])
    routing = IPv6ExtHdrRouting(type=2, addresses=[WEB_V6], segleft=0)
    client, mail, web = (FAR_V6, 5000), (WEB_V6, 25), (WEB_V6, 443)
    test.say("A rule for a port finds it.")
    for headers in ([], [options], [hops, options], [hops, options, routing, options], [long]):
        refused(test, OUTSIDE, behind(tcp(client, mail, "S"), *headers))
    drops(test, "policy", 5)
    test.say("Packets with and without such headers are of one connection.")
    for headers in ([options], [hops, options, routing, long]):
        connect(test, OUTSIDE, client, SERVERS, web)
        passes(test, OUTSIDE, behind(tcp(client, web, "PA", 1001, 1001, b"hello"), *headers), SERVERS)
        passes(test, SERVERS, behind(tcp(web, client, "RA", 1001, 1006), *headers), OUTSIDE)
    passes(test, OUTSIDE, behind(udp(client, web), hops), SERVERS)
    passes(test, SERVERS, udp(web, client), OUTSIDE)
    passes(test, OUTSIDE, behind(IPv6(src=FAR_V6, dst=WEB_V6) / ICMPv6EchoRequest(id=7) / DATA, options), SERVERS)
    passes(test, SERVERS, behind(IPv6(src=WEB_V6, dst=FAR_V6) / ICMPv6EchoReply(id=7) / DATA, options), OUTSIDE)
    test.run("check_entries connections_ipv6 6")
    test.say("Five headers, one of 264 bytes, a routing header of type 0 (RFC 5095).")
    refused(test, OUTSIDE, behind(udp(client, web), hops, options, routing, options, options))
    refused(test, OUTSIDE, behind(udp(client, web), IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(253))])))
    refused(test, OUTSIDE, behind(udp(client, web), hops, IPv6ExtHdrRouting(type=0, addresses=[WEB_V6], segleft=0)))
    drops(test, "extensions", 3)
    test.say("Fragments behind other headers.")
    refused(test, OUTSIDE, behind(udp(client, web), hops, IPv6ExtHdrFragment(m=1)))
    drops(test, "fragment", 1)
    test.say("Headers that end behind the packet or the frame; TCP that does not fit behind one.")
    for packet in (behind(udp(client, web), long), behind(tcp(client, web, "S"), options)):
        packet.plen = 24
        refused(test, OUTSIDE, packet)
    test.packet(OUTSIDE, bytes(arriving(OUTSIDE) / behind(udp(client, web), long))[: 14 + 40 + 200])
    drops(test, "malformed", 3)
    test.say("A neighbour solicitation behind one is not answered.")
    ask = IPv6(src=FAR_V6, dst="2001:db8:2::1", hlim=255) / ICMPv6ND_NS(tgt="2001:db8:2::1")
    refused(test, OUTSIDE, behind(ask, options))
    drops(test, "own", 1)
    return test


def others():
    test = setup("others", "ARP, neighbour discovery, pings to the firewall, wrong packets.")
    ask = Ether(src="02:00:00:00:01:02", dst="ff:ff:ff:ff:ff:ff") / ARP(
        hwsrc="02:00:00:00:01:02", psrc="10.1.0.2", pdst="10.1.0.1"
    )
    mac = "02:00:00:00:01:01"
    answer = Ether(src=mac, dst="02:00:00:00:01:02") / ARP(
        op=2, hwsrc=mac, psrc="10.1.0.1", hwdst="02:00:00:00:01:02", pdst="10.1.0.2"
    )
    test.through(INSIDE, ask, INSIDE, answer)
    target, router = "2001:db8:1::1", "2001:db8:1::2"
    ask = Ether(src="02:00:00:00:01:02", dst="33:33:ff:00:00:01") / IPv6(src=router, dst="ff02::1:ff00:1", hlim=255)
    ask = ask / ICMPv6ND_NS(tgt=target) / ICMPv6NDOptSrcLLAddr(lladdr="02:00:00:00:01:02")
    answer = Ether(src=mac, dst="02:00:00:00:01:02") / IPv6(src=target, dst=router, hlim=255)
    answer = answer / ICMPv6ND_NA(R=0, S=1, O=1, tgt=target) / ICMPv6NDOptDstLLAddr(lladdr=mac)
    test.through(INSIDE, ask, INSIDE, answer)
    test.say("Duplicate address detection, with a nonce (RFC 7527): no answer.")
    ask = Ether(src="02:00:00:00:01:02", dst="33:33:ff:00:00:01") / IPv6(src="::", dst="ff02::1:ff00:1", hlim=255)
    test.packet(INSIDE, ask / ICMPv6ND_NS(tgt=target) / ICMPv6NDOptUnknown(type=14, len=1, data=bytes(range(6))))
    drops(test, "own", 1)
    test.say("Pings to the firewall are answered where the interface says so. Nothing else is.")
    request = IP(src=HOST, dst="10.1.0.1") / ICMP(id=5) / DATA
    test.through(
        INSIDE,
        arriving(INSIDE) / request,
        INSIDE,
        leaving(INSIDE) / IP(src="10.1.0.1", dst=HOST) / ICMP(type=0, id=5) / DATA,
    )
    refused(test, OUTSIDE, IP(src=FAR, dst="192.0.2.1") / ICMP(id=5) / DATA)
    refused(test, INSIDE, tcp((HOST, 1), ("10.1.0.1", 22), "S"))
    drops(test, "own", 3)
    request = IPv6(src=HOST_V6, dst=target) / ICMPv6EchoRequest(id=5, data=bytes(range(48)))
    test.through(
        INSIDE,
        arriving(INSIDE) / request,
        INSIDE,
        leaving(INSIDE) / IPv6(src=target, dst=HOST_V6) / ICMPv6EchoReply(id=5, data=bytes(range(48))),
    )
    refused(test, INSIDE, behind(request, IPv6ExtHdrDestOpt()))
    refused(test, OUTSIDE, IPv6(src=FAR_V6, dst="2001:db8:2::1") / ICMPv6EchoRequest(id=5))
    drops(test, "own", 5)
    test.say("Hop limits, the MTU, another station, an unknown port, no IP, wrong packets.")
    refused(test, INSIDE, IP(src=HOST, dst=FAR, ttl=1) / UDP())
    refused(test, INSIDE, IPv6(src=HOST_V6, dst=FAR_V6, hlim=1) / UDP())
    drops(test, "hops", 2)
    refused(test, INSIDE, udp((HOST, 1), (FAR, 2), data=Raw(bytes(1473))))
    drops(test, "long", 1)
    test.packet(INSIDE, leaving(INSIDE) / udp((HOST, 1), (FAR, 2)))
    test.packet(9, arriving(INSIDE) / udp((HOST, 1), (FAR, 2)))
    drops(test, "interface", 2)
    test.packet(INSIDE, Ether(src="02:00:00:00:01:02", dst=mac, type=0x88CC) / DATA)
    drops(test, "not_ip", 1)
    wrong = udp((HOST, 1), (FAR, 2))
    wrong.chksum = 1
    refused(test, INSIDE, wrong)
    test.packet(INSIDE, bytes(arriving(INSIDE) / udp((HOST, 1), (FAR, 2)))[:36])
    drops(test, "malformed", 2)
    return test


def malformed():
    test = setup("malformed", "Packets whose lengths do not agree, or whose header checksum is wrong, are dropped and learn nothing.")
    for version, ether_type, wrong in (
        (4, 0x800, network_ipv4(HOST, FAR) | transport_ipv4(HOST, FAR)),
        (6, 0x86DD, network_ipv6(HOST_V6, FAR_V6) | transport_ipv6(HOST_V6, FAR_V6)),
    ):
        for what, packet in wrong.items():
            test.say(f"{what[0].upper()}{what[1:]}.")
            test.packet(INSIDE, bytes(arriving(INSIDE))[:12] + ether_type.to_bytes(2, "big") + bytes(packet))
        test.run(f"check_entries connections_ipv{version} 0")
    drops(test, "malformed", 12 + 6)
    return test


def addresses():
    test = setup("addresses", "Packets from and to addresses that no router forwards begin no connection.")
    for host, far, wrong in ((HOST, FAR, ADDRESSES_IPV4), (HOST_V6, FAR_V6, ADDRESSES_IPV6)):
        for address in wrong:
            test.say(f"{address}.")
            refused(test, INSIDE, udp((host, 4000), (address, 443)))
            refused(test, INSIDE, tcp((host, 4000), (address, 443), "S"))
            refused(test, INSIDE, udp((address, 4000), (far, 443)))
    drops(test, "address", 3 * (len(ADDRESSES_IPV4) + len(ADDRESSES_IPV6)))
    test.run("check_entries connections_ipv4 0", "check_entries connections_ipv6 0")
    return test


def main():
    return write([connections(), tcp_states(), lost_states(), policies(), limits(), errors(), fragments(), extensions(), others(), malformed(), addresses()])


if __name__ == "__main__":
    sys.exit(main())
