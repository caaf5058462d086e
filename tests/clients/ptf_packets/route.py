"""A test of ptf with packets of the program's own headers: scapy is not there."""

import sys

import ptf
import ptf.testutils as testutils
from forebay import compile, examples
from forebay.packets import internet_checksum
from ptf.base_tests import BaseTest
from ptf.mask import Mask

PACKETS = compile(examples.path("router.p4")).packets


def packet(ttl, mac):
    built = PACKETS.build(
        ethernet={"dst_addr": mac, "ether_type": 0x0800},
        ipv4={"version": 4, "ihl": 5, "total_len": 60, "ttl": ttl, "dst_addr": "10.1.2.3"},
        payload=bytes(range(40)),
    )
    built.ipv4.header_checksum = internet_checksum(built.ipv4.to_bytes())
    return built


class Route(BaseTest):
    def setUp(self):
        self.dataplane = ptf.dataplane_instance

    def runTest(self):
        testutils.send_packet(self, 1, packet(64, 0))
        expected = packet(63, "02:00:00:00:00:02")
        masked = Mask(expected)
        masked.set_do_not_care(*expected.place("ipv4", "header_checksum"))
        masked.set_do_not_care(*expected.place("ethernet", "src_addr"))
        testutils.verify_packets(self, masked, [2])
        assert "scapy" not in sys.modules


class Difference(BaseTest):
    """A packet that differs is printed by its fields."""

    def setUp(self):
        self.dataplane = ptf.dataplane_instance

    def runTest(self):
        testutils.send_packet(self, 1, packet(64, 0))
        try:
            testutils.verify_packet(self, packet(9, 0), 2)
        except AssertionError as error:
            text = str(error)
        assert "hdr.ipv4" in text and "ttl              0x09" in text and "02 00 00 00 00 02" in text, text
