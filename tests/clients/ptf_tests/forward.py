"""A test of ptf: packets follow entries that p4runtime-shell has written."""

import os

import p4runtime_sh.shell as sh
import ptf
import ptf.testutils as testutils
from ptf.base_tests import BaseTest


class Forward(BaseTest):
    def setUp(self):
        self.dataplane = ptf.dataplane_instance
        config = sh.FwdPipeConfig(os.environ["P4INFO"], os.environ["PROGRAM"])
        sh.setup(device_id=1, grpc_addr=os.environ["ADDRESS"], election_id=(0, 1), config=config)

    def runTest(self):
        packet = testutils.simple_tcp_packet(eth_dst="00:00:00:00:00:02", ip_dst="10.0.0.2")
        testutils.send_packet(self, 1, packet)
        testutils.verify_no_other_packets(self)
        entry = sh.TableEntry("forwarding")(action="forward")
        entry.match["hdr.ethernet.dst_addr"] = "00:00:00:00:00:02"
        entry.action["port"] = "2"
        entry.insert()
        testutils.send_packet(self, 1, packet)
        testutils.verify_packets(self, packet, [2])

    def tearDown(self):
        sh.teardown()
