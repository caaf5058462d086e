#!/usr/bin/env python3
"""What collect.py makes of datagrams: reports by the header with which their packet begins, and malformed ones. Needs
scapy."""

import importlib.util
import pathlib
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
from bed import skip

if not importlib.util.find_spec("scapy"):
    skip("scapy is not installed")
    sys.exit()

import int_scapy
from collect import described
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

V4 = IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=4000, dport=53)
V6 = IPv6(src="fd00::1", dst="fd00::2") / UDP(sport=4000, dport=53)


def datagram(*packets):
    """A datagram with a report about each packet: its inner type, and its layers."""
    reports = []
    for in_type, packet in packets:
        data = bytes(packet / Raw(b"...."))
        data = data[: len(data) // 4 * 4]
        reports.append(int_scapy.Report(in_type=in_type, md_bits=0x4000, metadata=b"\0\1\0\2", data=data))
    return bytes(int_scapy.TelemetryReport(node_id=7, sequence_number=3, reports=reports))


class Collect(unittest.TestCase):
    def test_the_first_header_of_the_packet(self):
        begins = "node 7 #3 [F] "
        v4, v6 = "10.0.0.1 > 10.0.0.2 UDP 4000 > 53", "fd00::1 > fd00::2 UDP 4000 > 53"
        for in_type, packet, flow in ((3, Ether() / V4, v4), (3, Ether() / V6, v6), (4, V4, v4), (5, V6, v6)):
            self.assertEqual(described(datagram((in_type, packet))), [f"{begins}{flow}: ports=65538"])
        self.assertEqual(len(described(datagram((4, V4), (5, V6)))), 2)

    def test_a_report_of_more_than_its_length_can_say(self):
        said = described(datagram((3, Ether() / V4)))
        for size in (*range(950, 970, 4), 1400):
            long = datagram((3, Ether() / V4 / Raw(bytes(size))))
            self.assertEqual(described(long), said)
            self.assertEqual(long[9], min(len(long[12:]) // 4, 255))

    def test_the_transport_header_of_other_packets_stands_behind_int(self):
        int_scapy.bind()
        header = int_scapy.IntMD(hop_ml=1, instructions=0x8000, stack=struct.pack("!II", 2, 1))
        shim = int_scapy.IntShim(npt=int_scapy.NPT_IP, next_protocol=6)
        packet = IP(src="10.0.0.1", dst="10.0.0.2") / UDP(dport=32766) / shim / header / TCP(sport=4000, dport=80)
        [line] = described(datagram((4, packet)))
        said = "10.0.0.1 > 10.0.0.2 TCP 4000 > 80: ports=65538 | hop 1: node_id=1 | hop 2: node_id=2"
        self.assertEqual(line, f"node 7 #3 [F] {said}")

    def test_hops_that_are_cut_off_are_left_out(self):
        int_scapy.bind()
        stack = b"".join(struct.pack("!IHH", node, 1, 2) for node in (3, 2, 1))
        header = int_scapy.IntShim(next_protocol=53) / int_scapy.IntMD(hop_ml=2, instructions=0xC000, stack=stack)
        packet = bytes(Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=4000, dport=32766) / header)
        # Ethernet, IPv4, UDP, shim and INT header have 58 bytes, a hop has 8.
        for kept, numbers in ((84, [1, 2, 3]), (80, [2, 3]), (72, [3]), (60, [])):
            hops = [f"hop {number}: node_id={number} ports=65538" for number in numbers]
            data = packet[:kept] + bytes(max(kept - len(packet), 0))
            report = int_scapy.Report(md_bits=0x4000, metadata=b"\0\1\0\2", data=data)
            [line] = described(bytes(int_scapy.TelemetryReport(node_id=7, reports=[report])))
            self.assertEqual(line.split(" | ")[1:], hops)
            self.assertIn(" 10.0.0.1 > 10.0.0.2 UDP 4000 > 53: ", line)

    def test_malformed_datagrams(self):
        whole = datagram((3, Ether() / V4))
        cut = [whole[:length] for length in (0, 1, 7, 8, 9, 11, 15)]
        for other in (*cut, b"other", b"\x40" + whole[1:]):
            self.assertEqual(described(other), [f"malformed: {other.hex()}"])
        longer = whole + b"\0\0"
        self.assertEqual(described(longer), [*described(whole), f"malformed: {longer.hex()}"])


if __name__ == "__main__":
    unittest.main()
