"""p4runtime-shell: loads a program, writes every kind of entity, reads it back, exchanges packets."""

import tempfile

import p4runtime_sh.shell as sh
from testbed import ADDRESS, HERE, Switch, build, ethernet, expect

PROGRAM = HERE / "entities.p4"

# The same program as p4c would compile it for BMv2, and its source, whose P4Info has the ids that p4c gives.
COMPILED = HERE.parent / "bmv2" / "routing.json"
SOURCE = HERE.parent / "bmv2" / "routing.p4"


def read_all(entity):
    found = []
    entity.read(lambda one: found.append(one))
    return found


def tables():
    entry = sh.TableEntry("forwarding")(action="forward")
    entry.match["hdr.ethernet.dst_addr"] = "00:00:00:00:00:02"
    entry.action["port"] = "2"
    entry.insert()
    expect(len(read_all(sh.TableEntry("forwarding"))) == 1, "a table entry is read back")
    entry.action["port"] = "1"
    entry.modify()
    found = read_all(sh.TableEntry("forwarding"))
    expect(found[0].msg() == entry.msg(), "a modified entry is what was written")
    entry.delete()
    expect(not read_all(sh.TableEntry("forwarding")), "a deleted entry is gone")

    entry = sh.TableEntry("filter")(action="allow")
    entry.match["hdr.ipv4.src_addr"] = "10.0.0.0&&&255.0.0.0"
    entry.match["hdr.ipv4.total_len"] = "20..64"
    entry.match["standard_metadata.ingress_port"] = "1"
    entry.priority = 5
    entry.meter_config.cir, entry.meter_config.cburst = 1, 2
    entry.meter_config.pir, entry.meter_config.pburst = 3, 4
    entry.insert()
    found = read_all(sh.TableEntry("filter"))
    expect(len(found) == 1 and found[0].priority == 5, "ternary, range and optional fields")
    meter = sh.DirectMeterEntry("filter_meter")
    meter.table_entry.match["hdr.ipv4.src_addr"] = "10.0.0.0&&&255.0.0.0"
    meter.table_entry.match["hdr.ipv4.total_len"] = "20..64"
    meter.table_entry.match["standard_metadata.ingress_port"] = "1"
    meter.table_entry.priority = 5
    found = read_all(meter)
    expect(found[0].cir == 1 and found[0].pburst == 4, "a direct meter is read back")
    entry.delete()


def profiles():
    member = sh.ActionProfileMember("next_hop_selector")(member_id=1, action="set_next_hop")
    member.action["dst_addr"] = "00:00:00:00:00:aa"
    member.action["port"] = "2"
    member.insert()
    group = sh.ActionProfileGroup("next_hop_selector")(group_id=1)
    group.add(1, 1)
    group.insert()
    entry = sh.TableEntry("routing")
    entry.match["hdr.ipv4.dst_addr"] = "10.0.0.0/8"
    entry.group_id = 1
    entry.insert()
    found = read_all(sh.TableEntry("routing"))
    expect(found[0].group_id == 1, "an entry with a group is read back")
    expect(read_all(sh.ActionProfileMember("next_hop_selector"))[0].msg() == member.msg(), "a member is read back")
    expect(read_all(sh.ActionProfileGroup("next_hop_selector"))[0].msg() == group.msg(), "a group is read back")
    entry.delete()
    group.delete()
    member.delete()
    entry = sh.TableEntry("routing")
    entry.match["hdr.ipv4.dst_addr"] = "10.0.0.0/8"
    action = sh.Action("set_next_hop")
    action["dst_addr"] = "00:00:00:00:00:aa"
    action["port"] = "2"
    entry.oneshot.add(action, weight=1)
    entry.insert()
    found = read_all(sh.TableEntry("routing"))
    expect(found[0].msg() == entry.msg(), "a one-shot is read back as it was written")
    entry.delete()


def objects():
    counter = sh.CounterEntry("port_counter")
    counter.index = 3
    counter.packet_count, counter.byte_count = 5, 600
    counter.modify()
    found = read_all(counter)
    expect(found[0].packet_count == 5 and found[0].byte_count == 600, "a counter is read back")
    meter = sh.MeterEntry("port_meter")
    meter.index = 3
    meter.cir, meter.cburst, meter.pir, meter.pburst = 1, 2, 3, 4
    meter.modify()
    expect(read_all(meter)[0].pir == 3, "a meter is read back")
    group = sh.MulticastGroupEntry(1)
    group.add(1, 1).add(2, 2)
    group.insert()
    expect(read_all(sh.MulticastGroupEntry(1))[0].msg() == group.msg(), "a multicast group is read back")
    session = sh.CloneSessionEntry(7)
    session.add(2, 1)
    session.packet_length_bytes = 64
    session.insert()
    expect(read_all(sh.CloneSessionEntry(7))[0].msg() == session.msg(), "a clone session is read back")
    session.delete()
    group.delete()


def traffic(switch):
    entry = sh.TableEntry("forwarding")(action="forward")
    entry.match["hdr.ethernet.dst_addr"] = "00:00:00:00:00:02"
    entry.action["port"] = "2"
    entry.insert()
    frame = ethernet(2, 9)
    switch.wires[1].send(frame)
    received = switch.wires[2].receive()
    expect(received is not None and received[:14] == frame, "a packet follows an entry")
    counter = sh.DirectCounterEntry("forward_counter")
    counter.table_entry.match["hdr.ethernet.dst_addr"] = "00:00:00:00:00:02"
    expect(read_all(counter)[0].packet_count == 1, "its direct counter has counted it")
    entry.delete()
    switch.wires[1].send(frame)
    expect(switch.wires[2].receive(0.3) is None, "without the entry it does not")

    packet_in = sh.PacketIn()
    entry = sh.TableEntry("forwarding")(action="to_controller")
    entry.match["hdr.ethernet.dst_addr"] = "00:00:00:00:00:03"
    entry.action["reason"] = "9"
    entry.insert()
    switch.wires[1].send(ethernet(3, 9))
    packets = []
    packet_in.sniff(packets.append, timeout=1)
    expect(len(packets) == 1, "a packet comes to the controller")
    values = [metadata.value for metadata in packets[0].packet.metadata]
    expect(values[:2] == [b"\x01", b"\x09"], "with the port by which it came")
    packet_out = sh.PacketOut(payload=ethernet(5, 6), egress_port="2", padding="0")
    packet_out.send()
    received = switch.wires[2].receive()
    expect(received is not None and received[:14] == ethernet(5, 6), "a packet of the controller leaves")


def digests(switch):
    digest = sh.DigestEntry("learned_t")
    digest.ack_timeout_ns, digest.max_timeout_ns, digest.max_list_size = 10**9, 0, 1
    digest.insert()
    expect(read_all(digest)[0].msg() == digest.msg(), "a digest's configuration is read back")
    switch.wires[2].send(ethernet(5, 0x1122))
    lists = []
    sh.DigestList().sniff(lists.append, timeout=1)
    expect(len(lists) >= 1, "a digest comes to the controller")
    members = lists[-1].digest.data[0].struct.members
    expect(members[0].bitstring == b"\x11\x22" and members[1].bitstring == b"\x02", "with what the program learnt")


def idle():
    entry = sh.TableEntry("forwarding")(action="forward")
    entry.match["hdr.ethernet.dst_addr"] = "00:00:00:00:00:07"
    entry.action["port"] = "2"
    entry.idle_timeout_ns = 100_000_000
    entry.insert()
    notifications = []
    sh.IdleTimeoutNotification().sniff(notifications.append, timeout=1)
    expect(len(notifications) >= 1, "an idle entry is told of")
    told = notifications[0].idle_timeout_notification.table_entry[0]
    expect(told.idle_timeout_ns == 100_000_000, "with its time-out")
    entry.delete()


def compiled(switch):
    """Pushes JSON of BMv2 in place of the program that runs."""
    with tempfile.TemporaryDirectory() as folder:
        config = sh.FwdPipeConfig(str(build(SOURCE, folder)), str(COMPILED))
        sh.setup(device_id=1, grpc_addr=ADDRESS, election_id=(0, 2), config=config)
    entry = sh.TableEntry("ipv4_lpm")(action="forward")
    entry.match["hdr.ipv4.dstAddr"] = "10.0.1.0/24"
    entry.action["destination"] = "02:00:00:00:00:02"
    entry.action["port"] = "2"
    entry.insert()
    expect(read_all(sh.TableEntry("ipv4_lpm"))[0].msg() == entry.msg(), "JSON of BMv2: an entry is read back")
    packet = bytes.fromhex("45000014000000004006" + "65e2" + "0a0000010a000102")
    switch.wires[1].send(ethernet(1, 9, 0x0800, packet))
    received = switch.wires[2].receive()
    routed = ethernet(0x020000000002, 1, 0x0800, bytes.fromhex("45000014000000003f0666e20a0000010a000102"))
    expect(received is not None and received[: len(routed)] == routed, "JSON of BMv2: a packet is routed")
    counter = sh.DirectCounterEntry("routed")
    counter.table_entry.match["hdr.ipv4.dstAddr"] = "10.0.1.0/24"
    expect(read_all(counter)[0].packet_count == 1, "JSON of BMv2: a direct counter counts")
    sh.teardown()


def main():
    switch = Switch(ports=2)
    with tempfile.TemporaryDirectory() as folder:
        info = build(PROGRAM, folder)
        config = sh.FwdPipeConfig(str(info), str(PROGRAM))
        sh.setup(device_id=1, grpc_addr=ADDRESS, election_id=(0, 1), config=config)
    expect(sh.APIVersion() == "1.5.0", "the version of the protocol is told")
    tables()
    profiles()
    objects()
    traffic(switch)
    digests(switch)
    idle()
    sh.teardown()
    compiled(switch)


main()
