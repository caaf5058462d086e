"""Packets with wrong lengths or checksums, which must be dropped as malformed, and addresses that no router forwards:
for the makers of tests."""

from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.packet import Raw

DATA = Raw(bytes(range(20)))
UDP_4, TCP_4 = UDP(sport=4000, dport=443), TCP(sport=4000, dport=443, flags="S")
UDP_BEYOND, UDP_SHORT = UDP(sport=4000, dport=443, len=29), UDP(sport=4000, dport=443, len=7)
TCP_SHORT, TCP_BEYOND = TCP(sport=4000, dport=443, dataofs=4), TCP(sport=4000, dport=443, dataofs=15)


# RFC 1812 §5.3.7, RFC 3927 §2.7; RFC 4291 §2.5 and §2.7.
ADDRESSES_IPV4 = ("0.1.2.3", "127.0.0.1", "169.254.7.7", "224.0.0.5", "239.1.2.3", "240.0.0.1", "255.255.255.255")
ADDRESSES_IPV6 = ("::", "::1", "fe80::9", "ff02::1", "ff0e::5")


def network_ipv4(source, destination):
    """Mistakes in the IPv4 header: name -> packet (RFC 1812 §5.2.2)."""
    ip = {"src": source, "dst": destination}
    wrong_checksum = bytearray(bytes(IP(**ip, options=[IPOption_NOP()] * 4) / UDP_4 / DATA))
    wrong_checksum[10] ^= 1
    return {
        "total length of less than the header": IP(**ip, len=10) / UDP_4 / DATA,
        "total length of less than the header with its options": IP(**ip, len=20, ihl=6) / UDP_4 / DATA,
        "a truncated packet": IP(**ip, len=49) / UDP_4 / DATA,
        "a wrong checksum of a header with options": Raw(bytes(wrong_checksum)),
    }


def transport_ipv4(source, destination):
    """Mistakes in the header after the IPv4 header: name -> packet."""
    ip = {"src": source, "dst": destination}
    return {
        "no byte of UDP": IP(**ip, len=20) / UDP_4 / DATA,
        "half of the UDP header": IP(**ip, len=24) / UDP_4 / DATA,
        "UDP of 7 bytes": IP(**ip) / UDP_SHORT / DATA,
        "UDP beyond the packet": IP(**ip) / UDP_BEYOND / DATA,
        "half of the TCP header": IP(**ip, len=30) / TCP_4 / DATA,
        "a TCP header of 16 bytes": IP(**ip) / TCP_SHORT / DATA,
        "a TCP header beyond the packet": IP(**ip) / TCP_BEYOND / DATA,
        "half of the ICMP header": IP(**ip, len=24) / ICMP(id=7) / DATA,
    }


def network_ipv6(source, destination):
    return {"a truncated packet (IPv6)": IPv6(src=source, dst=destination, plen=29) / UDP_4 / DATA}


def transport_ipv6(source, destination):
    ip = {"src": source, "dst": destination}
    return {
        "no byte of UDP (IPv6)": IPv6(**ip, plen=0, nh=17) / UDP_4 / DATA,
        "UDP beyond the packet (IPv6)": IPv6(**ip) / UDP_BEYOND / DATA,
        "a TCP header of 16 bytes (IPv6)": IPv6(**ip) / TCP_SHORT / DATA,
        "a TCP header beyond the packet (IPv6)": IPv6(**ip) / TCP_BEYOND / DATA,
        "half of an echo request (IPv6)": IPv6(**ip, plen=4, nh=58) / ICMPv6EchoRequest(id=7) / DATA,
    }
