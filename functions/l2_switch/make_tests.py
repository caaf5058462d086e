#!/usr/bin/env python3
"""Writes the STF tests of l2_switch.p4, with scapy.

    make_tests.py [--check]

Needs scapy from PyPI.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import with_scapy  # noqa: F401
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw
from stf import Test, write

CPU = 510
# Ports 1 and 2: VLAN 10 untagged. Port 3: VLAN 20 untagged. Port 4: both, tagged. Port 5: VLAN 10 tagged, 20 untagged.
PVID = {1: 10, 2: 10, 3: 20, 4: 0, 5: 20}
MEMBERS = {10: {1: False, 2: False, 4: True, 5: True}, 20: {3: False, 4: True, 5: False}}
A, B, C = "02:00:00:00:00:0a", "02:00:00:00:00:0b", "02:00:00:00:00:0c"
BROADCAST = "ff:ff:ff:ff:ff:ff"
DATA = Raw(bytes(range(50)))
DROPS = "malformed port state member same_port filtered storm source".split()


def mac(address):
    return "0x" + address.replace(":", "")


def port(number, state=2):
    return (
        f"add ports standard_metadata.ingress_port:{number} set_port(pvid:{PVID[number]}, state:{state}) = port{number}"
    )


def setup(name, about, *commands, options=""):
    test = Test(HERE / name, about, options)
    test.run(*[port(number) for number in PVID])
    for node, (vid, members) in enumerate(MEMBERS.items()):
        for number, is_tagged in members.items():
            test.run(f"add members meta.vid:{vid} standard_metadata.ingress_port:{number} NoAction()")
            how = "tagged" if is_tagged else "untagged"
            test.run(f"add egress_members meta.vid:{vid} standard_metadata.egress_port:{number} {how}()")
        ports = " ".join(map(str, members))
        test.run(f"mc_mgrp_create {vid}", f"mc_node_create 0 {ports}", f"mc_node_associate {vid} {node}")
    test.run(*commands)
    return test


def at(vid, number, frame, pcp=0, dei=0):
    """A frame as it is on the wire of a port, with or without its tag."""
    if not MEMBERS[vid][number]:
        return frame
    return Ether(src=frame.src, dst=frame.dst) / Dot1Q(vlan=vid, prio=pcp, id=dei, type=frame.type) / frame.payload


def frame(source, destination):
    return Ether(src=source, dst=destination, type=0x88B5) / DATA


def sent(test, vid, port_in, one, ports_out):
    test.packet(port_in, at(vid, port_in, one))
    for number in ports_out:
        test.expect(number, at(vid, number, one))


def vlans():
    test = setup(
        "l2_switch_vlans.stf",
        "Frames stay in their VLAN, with or without a tag as each port has them; what is not known is flooded.",
        f"add destinations meta.vid:10 hdr.ethernet.dst_addr:{mac(A)} forward(port:1)",
        f"add destinations meta.vid:10 hdr.ethernet.dst_addr:{mac(B)} forward(port:4)",
        f"add destinations meta.vid:20 hdr.ethernet.dst_addr:{mac(A)} forward(port:5)",
    )
    for vid, members in MEMBERS.items():
        for number in members:
            test.say(f"Flooded in VLAN {vid} from port {number}.")
            sent(test, vid, number, frame(C, BROADCAST), [other for other in members if other != number])
            sent(test, vid, number, frame(C, "02:00:00:00:00:77"), [other for other in members if other != number])
    test.say("Known addresses; the same address in two VLANs is two.")
    sent(test, 10, 2, frame(C, A), [1])
    sent(test, 10, 2, frame(C, B), [4])
    sent(test, 10, 4, frame(C, A), [1])
    sent(test, 20, 4, frame(C, A), [5])
    test.say("Not back to where it came from.")
    sent(test, 10, 1, frame(C, A), [])
    test.counter("drops", DROPS.index("same_port"), 1)
    return test


def tags():
    test = setup(
        "l2_switch_tags.stf",
        "Priority tags, priorities of tags, tags inside tags, VLANs and ports without membership.",
        f"add destinations meta.vid:10 hdr.ethernet.dst_addr:{mac(A)} forward(port:4)",
        f"add destinations meta.vid:10 hdr.ethernet.dst_addr:{mac(B)} forward(port:1)",
    )
    one = frame(C, A)
    test.say("A tag with VLAN 0 has a priority only: the VLAN is that of the port, the priority stays.")
    priority_tagged = Ether(src=C, dst=A) / Dot1Q(vlan=0, prio=6, id=1, type=one.type) / DATA
    test.through(1, priority_tagged, 4, at(10, 4, one, 6, 1))
    test.say("An untagged port takes the tag of its own VLAN too, and takes it off.")
    test.through(1, at(10, 4, one, 3), 4, at(10, 4, one, 3))
    test.through(4, at(10, 4, frame(C, B), 5), 1, frame(C, B))
    test.say("A tag of the customer below the tag is payload.")
    inside = Ether(src=C, dst=A, type=0x8100) / Raw(
        bytes(Dot1Q(vlan=10, type=0x8100) / Dot1Q(vlan=99, type=0x88B5) / DATA)
    )
    test.through(5, inside, 4, inside)
    test.say(
        "Dropped: a VLAN of which the port is no member, an untagged frame at a port without VLAN, an unknown port."
    )
    test.packet(1, at(20, 4, one))
    test.packet(2, Ether(src=C, dst=A) / Dot1Q(vlan=4094, type=one.type) / DATA)
    test.packet(4, one)
    test.counter("drops", DROPS.index("member"), 3)
    test.packet(9, one)
    test.counter("drops", DROPS.index("port"), 1)
    return test


def stations():
    test = setup(
        "l2_switch_stations.stf",
        "Addresses: groups of multicast addresses, filters, sources that cannot be, reserved ones.",
        "add destinations meta.vid:10 hdr.ethernet.dst_addr:0x01005E000001 to_group(group:100)",
        f"add destinations meta.vid:10 hdr.ethernet.dst_addr:{mac(B)} filter()",
        "mc_mgrp_create 100",
        "mc_node_create 0 2 4",
        "mc_node_associate 100 2",
    )
    test.say("A multicast address with a group of its own.")
    sent(test, 10, 1, frame(C, "01:00:5e:00:00:01"), [2, 4])
    sent(test, 10, 2, frame(C, "01:00:5e:00:00:01"), [4])
    test.say("A filtered address, a source that is a group, a source of zeros, a frame that is too short.")
    sent(test, 10, 1, frame(C, B), [])
    sent(test, 10, 1, frame("01:00:5e:00:00:02", A), [])
    sent(test, 10, 1, frame("00:00:00:00:00:00", A), [])
    test.packet(1, bytes(13))
    test.packet(4, bytes(at(10, 4, frame(C, A)))[:16])
    test.counter("drops", DROPS.index("filtered"), 1)
    test.counter("drops", DROPS.index("source"), 2)
    test.counter("drops", DROPS.index("malformed"), 2)
    test.say("Reserved addresses go to the controller, whatever the state of the port, and from there to a port.")
    for last in (0x00, 0x02, 0x0E):
        one = frame(C, f"01:80:c2:00:00:{last:02x}")
        test.packet(3, one)
        test.expect(CPU, bytes([3 >> 1, (3 & 1) << 7]) + bytes(one))
    test.packet(CPU, bytes([3 >> 1, (3 & 1) << 7]) + bytes(one))
    test.expect(3, one)
    sent(test, 10, 1, frame(C, "01:80:c2:00:00:10"), [2, 4, 5])
    return test


def states():
    test = setup(
        "l2_switch_states.stf",
        "States of ports: a blocked port takes reserved addresses only, a learning one forwards nothing.",
        f"add destinations meta.vid:10 hdr.ethernet.dst_addr:{mac(A)} forward(port:2)",
    )
    sent(test, 10, 1, frame(C, A), [2])
    for state in (0, 1):
        test.run("remove port1", port(1, state))
        sent(test, 10, 1, frame(C, A), [])
        reserved = frame(C, "01:80:c2:00:00:00")
        test.packet(1, reserved)
        test.expect(CPU, bytes([0, 0x80]) + bytes(reserved))
    test.counter("drops", DROPS.index("state"), 2)
    test.run("remove port1", port(1, 2))
    sent(test, 10, 1, frame(C, A), [2])
    return test


def storms():
    test = setup(
        "l2_switch_storms.stf",
        "Storm control: what floods has a rate, what is known has none.",
        f"add destinations meta.vid:10 hdr.ethernet.dst_addr:{mac(A)} forward(port:2)",
        "meter_set_rates storms 1 0.000001:150 0.000001:150",
        options="-D STORM_CONTROL",
    )
    for _ in range(2):
        sent(test, 10, 1, frame(C, BROADCAST), [2, 4, 5])
    sent(test, 10, 1, frame(C, BROADCAST), [])
    sent(test, 10, 1, frame(C, "02:00:00:00:00:78"), [])
    for _ in range(4):
        sent(test, 10, 1, frame(C, A), [2])
    sent(test, 10, 2, frame(C, BROADCAST), [1, 4, 5])
    test.counter("drops", DROPS.index("storm"), 2)
    return test


TESTS = [vlans, tags, stations, states, storms]

if __name__ == "__main__":
    sys.exit(write([make() for make in TESTS]))
