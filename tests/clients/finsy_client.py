"""finsy: loads a program, writes every kind of entity and reads it back, gets packets, digests and idle entries."""

import asyncio
import tempfile

import finsy as fy
from finsy.p4entity import P4ValueSetMember

from testbed import ADDRESS, HERE, Switch, build, ethernet, expect

PROGRAM = HERE / "entities.p4"


async def same(switch, entity):
    """Writes an entity, and expects it back."""
    found = [one.encode(switch.p4info) async for one in switch.read(entity)]
    expect(entity.encode(switch.p4info) in found, f"{type(entity).__name__} is read back")


async def entities(switch):
    next_hop = fy.Action("set_next_hop", dst_addr="00:00:00:00:00:aa", port=2)
    inserted = [
        fy.P4TableEntry("forwarding", match=fy.Match(dst_addr="00:00:00:00:00:02"), action=fy.Action("forward", port=2)),
        fy.P4TableEntry(
            "filter",
            match=fy.Match(src_addr="10.0.0.0/8", total_len="20...64", ingress_port=1),
            action=fy.Action("allow"),
            priority=5,
            metadata=b"note",
        ),
        fy.P4ActionProfileMember("class_profile", member_id=1, action=fy.Action("set_tos", tos=4)),
        fy.P4TableEntry("classes", match=fy.Match(protocol=6), action=fy.P4IndirectAction(member_id=1)),
        fy.P4TableEntry(
            "routing",
            match=fy.Match(dst_addr="10.0.0.0/8"),
            action=fy.P4IndirectAction([(1, next_hop), (2, next_hop)]),
        ),
        fy.P4MulticastGroupEntry(1, replicas=[1, 2]),
        fy.P4CloneSessionEntry(7, replicas=[2], packet_length_bytes=64),
        fy.P4DigestEntry("learned_t", max_list_size=1, max_timeout_ns=0, ack_timeout_ns=1_000_000_000),
    ]
    for entity in inserted:
        await switch.insert([entity])
        await same(switch, entity)
    modified = [
        fy.P4CounterEntry("port_counter", index=3, data=fy.P4CounterData(packet_count=5, byte_count=600)),
        fy.P4MeterEntry("port_meter", index=3, config=fy.P4MeterConfig(cir=1, cburst=2, pir=3, pburst=4)),
        fy.P4RegisterEntry("last_source", index=3, data=77),
        fy.P4ValueSetEntry("special_types", members=[P4ValueSetMember(0x22F3)]),
    ]
    for entity in modified:
        await switch.modify([entity])
        await same(switch, entity)


async def traffic(switch, bed):
    bed.wires[1].send(ethernet(2, 9))
    expect((bed.wires[2].receive() or b"")[:14] == ethernet(2, 9), "a packet follows an entry")
    await switch.insert([
        fy.P4TableEntry(
            "forwarding", match=fy.Match(dst_addr="00:00:00:00:00:03"), action=fy.Action("to_controller", reason=9)
        )
    ])
    packets = switch.read_packets()
    bed.wires[1].send(ethernet(3, 9))
    packet = await asyncio.wait_for(anext(packets), 5)
    expect(packet["ingress_port"] == 1 and packet["reason"] == 9, "a packet comes to the controller")
    await switch.write([fy.P4PacketOut(ethernet(5, 6), egress_port=2, padding=0)])
    expect((bed.wires[2].receive() or b"")[:14] == ethernet(5, 6), "a packet of the controller leaves")


async def notifications(switch, bed):
    digests = switch.read_digests("learned_t")
    first = asyncio.ensure_future(anext(digests))
    await asyncio.sleep(0.1)
    bed.wires[2].send(ethernet(2, 0x1122))
    digest = await asyncio.wait_for(first, 5)
    expect(digest[0]["address"] == 0x1122 and digest[0]["port"] == 2, "a digest comes to the controller")
    await switch.write([digest.ack()])
    timeouts = switch.read_idle_timeouts()
    first = asyncio.ensure_future(anext(timeouts))
    await asyncio.sleep(0.1)
    await switch.insert([
        fy.P4TableEntry(
            "forwarding",
            match=fy.Match(dst_addr="00:00:00:00:00:07"),
            action=fy.Action("drop"),
            idle_timeout_ns=100_000_000,
        )
    ])
    told = await asyncio.wait_for(first, 5)
    expect(told.table_entry[0].idle_timeout_ns == 100_000_000, "an idle entry is told of")


async def second_controller():
    """finsy begins with the same election id everywhere, and with a lower one when that is used."""
    async with fy.Switch("backup", ADDRESS, fy.SwitchOptions(fail_fast=True)) as backup:
        expect(not backup.is_primary, "a second controller is a backup")


async def main():
    bed = Switch(ports=2)
    with tempfile.TemporaryDirectory() as folder:
        options = fy.SwitchOptions(p4info=build(PROGRAM, folder), p4blob=PROGRAM, fail_fast=True)
        async with fy.Switch("switch", ADDRESS, options) as switch:
            expect(switch.is_primary, "finsy is primary and its program runs")
            await entities(switch)
            await traffic(switch, bed)
            await notifications(switch, bed)
            await second_controller()
            await switch.delete_all()


asyncio.run(main())
