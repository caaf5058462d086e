"""BMv2's control interface over Thrift, by third-party clients: thriftpy2, and pynng for notifications over nanomsg.

Also the commands of simple_switch_CLI: from a file before the switch starts, and by `simple_switch_CLI` while it runs.
"""

import contextlib
import hashlib
import json
import pathlib
import struct
import subprocess
import tempfile

import pynng
import thriftpy2
from testbed import FOREBAY, HERE, Wire, command, ethernet, expect, wait_for
from thriftpy2.protocol import TBinaryProtocolFactory, TMultiplexedProtocolFactory
from thriftpy2.rpc import make_client
from thriftpy2.transport import TBufferedTransportFactory

bmv2 = thriftpy2.load(str(HERE / "bmv2.thrift"), module_name="bmv2_thrift")
PORT = 9090
DEVICE = 77
FORWARDING = "EntityIngress.forwarding"

COMMANDS = """
# What a file beside a program may have.
table_add forwarding forward 00:00:00:00:00:01 => 2
mc_mgrp_create 5
mc_node_create 0 1 2
mc_node_associate 5 0
// a comment
table_add forwarding flood 00:00:00:00:00:02 => 5
table_dump forwarding
"""


def connect(service, name):
    protocol = TMultiplexedProtocolFactory(TBinaryProtocolFactory(), name)
    return make_client(service, "127.0.0.1", PORT, proto_factory=protocol, trans_factory=TBufferedTransportFactory())


def exact(*octets):
    return bmv2.Param(type=bmv2.Compare.EXACT, exact=bmv2.Exact(bytes(octets)))


def tables(client, wires):
    config = json.loads(client.bm_get_config())
    names = [table["name"] for table in config["pipelines"][0]["tables"]]
    expect(FORWARDING in names, "the program is described")
    expect(client.bm_get_config_md5() == hashlib.md5(client.bm_get_config().encode()).digest(), "and has a digest")
    expect(client.bm_mt_get_num_entries(0, FORWARDING) == 2, "the file of commands has added entries")
    wires[1].send(ethernet(1, 9))
    expect(wires[2].receive(timeout=10), "a packet is forwarded by one of them")
    count = client.bm_mt_read_counter(0, FORWARDING, 0)
    expect((count.packets, count.bytes) == (1, 60), "and counted")
    wires[1].send(ethernet(2, 9))
    expect(wires[1].receive(timeout=10) and wires[2].receive(timeout=10), "the multicast group sends to both ports")
    handle = client.bm_mt_add_entry(0, FORWARDING, [exact(0, 0, 0, 0, 0, 3)], "EntityIngress.forward", [b"\0\1"], bmv2.Options())
    expect(handle == 2, "an entry has a handle")
    client.bm_mt_modify_entry(0, FORWARDING, handle, "EntityIngress.forward", [b"\0\2"])
    wires[1].send(ethernet(3, 9))
    expect(wires[2].receive(timeout=10), "what it does is changed by it")
    entry = next(entry for entry in client.bm_mt_get_entries(0, FORWARDING) if entry.entry_handle == handle)
    expect(entry.match_key[0].exact.key == b"\0\0\0\0\0\3" and entry.action_entry.action_data == [b"\2"], "it is read")
    try:
        client.bm_mt_add_entry(0, FORWARDING, [exact(0, 0, 0, 0, 0, 3)], "EntityIngress.drop", [], bmv2.Options())
        expect(False, "a second one with the key is refused")
    except bmv2.Refused as refused:
        expect(refused.code == 17, "a second one with the key is refused: DUPLICATE_ENTRY")
    client.bm_mt_delete_entry(0, FORWARDING, handle)
    try:
        client.bm_mt_delete_entry(0, FORWARDING, handle)
        expect(False, "what is deleted has no handle")
    except bmv2.Refused as refused:
        expect(refused.code == 2, "what is deleted has no handle: INVALID_HANDLE")
    key = filter_key(1)
    client.bm_mt_add_entry(0, "EntityIngress.filter", key, "EntityIngress.drop", [], bmv2.Options(priority=7))
    [entry] = client.bm_mt_get_entries(0, "EntityIngress.filter")
    expect(entry.match_key == key and entry.options.priority == 7, "ternary, range and optional keys come back as they went")
    least = bmv2.Options(priority=2**31 - 1)
    last = client.bm_mt_add_entry(0, "EntityIngress.filter", filter_key(3), "EntityIngress.drop", [], least)
    found = {entry.options.priority for entry in client.bm_mt_get_entries(0, "EntityIngress.filter")}
    expect(found == {7, 2**31 - 1}, "the priority that wins least")
    client.bm_mt_delete_entry(0, "EntityIngress.filter", last)


def filter_key(host):
    """A key of the filter: this host of 10.0.0.0/24, with any length, from any port."""
    source = bmv2.Param(type=bmv2.Compare.TERNARY, ternary=bmv2.Ternary(bytes([10, 0, 0, host]), b"\xff" * 4))
    every_length = bmv2.Param(type=bmv2.Compare.RANGE, range=bmv2.Range(b"\0\0", b"\xff\xff"))
    every_port = bmv2.Param(type=bmv2.Compare.TERNARY, ternary=bmv2.Ternary(b"\0\0", b"\0\0"))
    return [source, every_length, every_port]


def profiles(client):
    profile = "EntityIngress.next_hop_selector"
    member = client.bm_mt_act_prof_add_member(0, profile, "EntityIngress.set_next_hop", [bytes([2] * 6), b"\0\2"])
    group = client.bm_mt_act_prof_create_group(0, profile)
    client.bm_mt_act_prof_add_member_to_group(0, profile, member, group)
    prefix = bmv2.Param(type=bmv2.Compare.LPM, lpm=bmv2.Lpm(bytes([10, 0, 0, 0]), 8))
    client.bm_mt_indirect_ws_add_entry(0, "EntityIngress.routing", [prefix], group, bmv2.Options())
    [entry] = client.bm_mt_get_entries(0, "EntityIngress.routing")
    expect((member, group, entry.action_entry.grp_handle) == (0, 0, 0), "members and groups have handles of their own")


def arrays(client):
    rates = [bmv2.Rate(0.001, 10), bmv2.Rate(0.002, 20)]
    client.bm_meter_set_rates(0, "EntityIngress.port_meter", 1, rates)
    expect(client.bm_meter_get_rates(0, "EntityIngress.port_meter", 1) == rates, "rates of meters")
    client.bm_meter_array_set_rates(0, "EntityIngress.filter_meter", rates)
    client.bm_mt_add_entry(0, "EntityIngress.filter", filter_key(2), "EntityIngress.allow", [], bmv2.Options(priority=8))
    handles = [entry.entry_handle for entry in client.bm_mt_get_entries(0, "EntityIngress.filter")]
    found = [client.bm_mt_get_meter_rates(0, "EntityIngress.filter", handle) for handle in handles]
    expect(found == [rates] * 2, "rates of all entries, and of those that are added later")
    for action in ("EntityIngress.drop", "EntityIngress.allow"):
        client.bm_mt_modify_entry(0, "EntityIngress.filter", handles[1], action, [])
    found = client.bm_mt_get_meter_rates(0, "EntityIngress.filter", handles[1])
    expect(found == rates, "an entry keeps its rates when it is changed")
    none = bmv2.Param(type=bmv2.Compare.TERNARY, ternary=bmv2.Ternary(b"\0" * 4, b"\0" * 4))
    key = [none, *filter_key(2)[1:]]
    every = client.bm_mt_add_entry(0, "EntityIngress.filter", key, "EntityIngress.allow", [], bmv2.Options(priority=8))
    own = [bmv2.Rate(0.003, 10), bmv2.Rate(0.004, 20)]
    client.bm_mt_set_meter_rates(0, "EntityIngress.filter", every, own)
    found = client.bm_mt_get_meter_rates(0, "EntityIngress.filter", every)
    expect(found == own, "an entry for all packets has rates of its own")
    client.bm_mt_delete_entry(0, "EntityIngress.filter", every)
    expect(client.bm_counter_read(0, "EntityIngress.port_counter", 1).packets == 3, "counters")
    client.bm_register_write(0, "EntityIngress.last_source", 3, 2**32 - 1)
    expect(client.bm_register_read(0, "EntityIngress.last_source", 3) == 2**32 - 1, "registers")
    expect(client.bm_register_read_all(0, "EntityIngress.last_source")[3] == 2**32 - 1, "all of a register")


def hashes(client):
    named = {hash["name"]: hash["algo"] for hash in json.loads(client.bm_get_config())["calculations"]}
    expect(named == {"calc": "crc32_custom"}, "names of hashes with parameters")
    koopman = bmv2.Crc32(0x741B8CD7, -1, -1, True, True)
    client.bm_set_crc32_custom_parameters(0, "calc", koopman)
    for call, name, config, code in (
        (client.bm_set_crc32_custom_parameters, "calc_0", koopman, 1),
        (client.bm_set_crc16_custom_parameters, "calc", bmv2.Crc16(0x1021, 0, 0, False, False), 2),
    ):
        try:
            call(0, name, config)
            refused = None
        except bmv2.Refused as error:
            refused = error.code
        expect(refused == code, f"parameters of hashes that there are not: error {code}")


def digests(client, wires):
    """As controllers of courses do it: the address from the switch, then messages of BMv2, each acknowledged."""
    address = client.bm_mgmt_get_info().notifications_socket
    expect(address == f"ipc:///tmp/bmv2-{DEVICE}-notifications.ipc", "the address of notifications is BMv2's")
    with pynng.Sub0(dial=address, topics=b"LEA|", recv_timeout=5000) as subscriber:
        message = until_heard(subscriber, wires[1], 0x40)
        topic, device, context, learned, buffer, count = struct.unpack("<4sQiiQi", message[:32])
        expect((topic, device, context, learned, count) == (b"LEA|", DEVICE, 0, 1, 1), "in the head that BMv2 gives them")
        source, port = message[32:38], int.from_bytes(message[38:], "big")
        expect(source[-1] >= 0x40 and port == 1 and len(message) == 40, "with fields in whole bytes")
        wires[1].send(ethernet(0x0A, source[-1]))
        expect_nothing(subscriber, "a sample is not sent again")
        client.bm_learning_ack_buffer(0, learned, buffer)
        wires[1].send(ethernet(0x0A, source[-1]))
        subscriber.recv_timeout = 5000
        expect(subscriber.recv()[32:38] == source, "until its buffer is acknowledged")
        client.bm_learning_set_timeout(0, learned, 300)
        client.bm_learning_set_buffer_size(0, learned, 10)
        for number in range(3):
            wires[1].send(ethernet(0x0A, 0x90 + number))
        expect(struct.unpack("<i", subscriber.recv()[28:32]) == (3,), "a buffer that is not full goes when its time is over")


def idle_entries_and_ports(client, wires):
    """A port that loses its link, and an entry that no packet hits: as BMv2 reports them."""
    address = client.bm_mgmt_get_info().notifications_socket
    tables = json.loads(client.bm_get_config())["pipelines"][0]["tables"]
    number = next(table["id"] for table in tables if table["name"] == FORWARDING)
    action = f"{FORWARDING.rsplit('.', 1)[0]}.drop"
    entry = client.bm_mt_add_entry(0, FORWARDING, [exact(0, 0, 0, 0, 0, 0x77)], action, [], bmv2.Options())
    client.bm_mt_set_entry_ttl(0, FORWARDING, entry, 500)
    with pynng.Sub0(dial=address, topics=[b"AGE|", b"PRT|"], recv_timeout=5000) as subscriber:
        message = subscriber.recv()
        topic, device, context, _, table, count = struct.unpack("<4sQiQii", message[:32])
        expect((topic, device, context, table, count) == (b"AGE|", DEVICE, 0, number, 1), "an idle entry has BMv2's head")
        expect(struct.unpack("<i", message[32:]) == (entry,), "and the entry's handle")
        client.bm_mt_delete_entry(0, FORWARDING, entry)
        for state in ("down", "up"):
            command("ip", "link", "set", wires[2].far, state)
            while (message := subscriber.recv())[:4] != b"PRT|":
                pass
            topic, device, count = struct.unpack("<4sQi16x", message[:32])
            expect((topic, device, count) == (b"PRT|", DEVICE, 1), "a port has BMv2's head")
            expect(struct.unpack("<ii", message[32:]) == (2, int(state == "up")), f"a port that is {state}")


def until_heard(subscriber, wire, first):
    """The first message about packets from hosts, numbered from `first` on. Messages before the subscription has
    reached the switch are lost, so packets are sent until one arrives."""
    subscriber.recv_timeout = 200
    for attempt in range(50):
        wire.send(ethernet(0x0A, first + attempt))
        try:
            return subscriber.recv()
        except pynng.Timeout:
            continue
    expect(False, "digests are published")


def expect_nothing(subscriber, what):
    subscriber.recv_timeout = 500
    try:
        subscriber.recv()
        expect(False, what)
    except pynng.Timeout:
        expect(True, what)


def others(client):
    replication, switch = connect(bmv2.Replication, "simple_pre_lag"), connect(bmv2.SimpleSwitch, "simple_switch")
    replication.bm_mc_mgrp_create(0, 6)
    node = replication.bm_mc_node_create(0, 3, "110", "")
    replication.bm_mc_node_associate(0, 6, node)
    written = json.loads(replication.bm_mc_get_entries(0))
    expect({"id": 6, "l1_handles": [node]} in written["mgrps"], "multicast groups")
    with_lag = replication.bm_mc_node_create(0, 4, "10", "100")
    replication.bm_mc_node_associate(0, 6, with_lag)
    replication.bm_mc_set_lag_membership(0, 2, "110")
    written = json.loads(replication.bm_mc_get_entries(0))
    expect(written["lags"] == [{"id": 2, "ports": [1, 2]}], "link aggregation groups")
    expect({"handle": with_lag, "ports": [1], "lags": [2]} in written["l2_handles"], "nodes with these")
    replication.bm_mc_node_destroy(0, with_lag)
    switch.mirroring_session_add(4, bmv2.Session(mgid=6))
    expect(switch.mirroring_session_get(4).mgid == 6, "clone sessions")
    expect(switch.set_all_egress_queue_rates(5000) == 0, "rates of queues")
    expect(switch.set_egress_priority_queue_depth(1, 7, 20) == 0, "depths of queues")
    expect(switch.set_egress_priority_queue_depth(1, 8, 20) != 0, "queues that there are not")
    hashes(client)
    ports = {port.port_num: port.is_up for port in client.bm_dev_mgr_show_ports()}
    expect(ports == {1: True, 2: True}, "ports")
    client.bm_dev_mgr_remove_port(2)
    second = {port.port_num: port for port in client.bm_dev_mgr_show_ports()}[2]
    expect(not second.is_up, "a port that was removed")
    client.bm_dev_mgr_add_port(second.iface_name, 2, "")


def by_command(folder):
    link = folder / "simple_switch_CLI"
    link.symlink_to(FOREBAY)
    lines = "table_add forwarding drop 00:00:00:00:00:08 =>\nregister_read last_source 3\nregister_read last_source 3 4\nnonsense\nset_queue_rate 100 1 9\nmc_dump\n"
    done = subprocess.run([str(link), "--thrift-port", str(PORT)], input=lines, capture_output=True, text=True)
    for said in ("Entry has been added with handle", "last_source[3]= 4294967295", "expected: register_read REGISTER [INDEX]", "there is no command `nonsense`", "there is no queue 9", "mgrp(6)"):
        expect(said in done.stdout, f"simple_switch_CLI says: {said}")
    expect(done.returncode == 0, "and ends well")


def reset(client, wires):
    """A reset, with which controllers of courses begin, after commands have made clone sessions and hosts have sent
    packets."""
    replication, switch = connect(bmv2.Replication, "simple_pre_lag"), connect(bmv2.SimpleSwitch, "simple_switch")
    switch.mirroring_session_add(5, bmv2.Session(port=2))
    address = client.bm_mgmt_get_info().notifications_socket
    with pynng.Sub0(dial=address, topics=b"LEA|", recv_timeout=200) as subscriber:
        known = until_heard(subscriber, wires[1], 0xB0)[37]
        client.bm_reset_state()
        wires[1].send(ethernet(0x0A, known))
        subscriber.recv_timeout = 5000
        message = subscriber.recv()
        buffer = struct.unpack("<Q", message[20:28])[0]
        expect((message[37], buffer) == (known, 0), "a sample comes again after a reset")
    expect(client.bm_mt_get_entries(0, FORWARDING) == [], "entries are gone")
    expect(client.bm_meter_get_rates(0, "EntityIngress.port_meter", 1) == [], "rates of meters are gone")
    expect(client.bm_register_read(0, "EntityIngress.last_source", 3) == 0, "registers are 0")
    expect(json.loads(replication.bm_mc_get_entries(0))["mgrps"] == [], "multicast groups are gone")
    expect(switch.mirroring_session_get(5).port == 2, "clone sessions stay")


def swap(client, wires):
    """Another program is loaded, gets an entry, and runs only then."""
    try:
        client.bm_swap_configs()
        expect(False, "a swap needs a program")
    except bmv2.Refused as refused:
        expect(refused.code == 3, "a swap needs a program: NO_ONGOING_SWAP")
    client.bm_load_new_config((HERE / "entities.p4").read_text())
    try:
        client.bm_load_new_config("{}")
        expect(False, "one program waits at a time")
    except bmv2.Refused as refused:
        expect(refused.code == 2, "one program waits at a time: ONGOING_SWAP")
    handle = client.bm_mt_add_entry(0, FORWARDING, [exact(0, 0, 0, 0, 0, 0xC1)], "EntityIngress.forward", [b"\0\2"], bmv2.Options())
    with contextlib.suppress(OSError):
        # The first one is told that the interface was down.
        wires[2].receive(timeout=0.1)
    wires[1].send(ethernet(0xC1, 9))
    expect(wires[2].receive(timeout=0.5) is None, "the program that runs does not have the entry")
    client.bm_swap_configs()
    for _ in range(50):
        wires[1].send(ethernet(0xC1, 9))
        if wires[2].receive(timeout=0.2):
            break
    else:
        expect(False, "the other program runs after the swap")
    client.bm_mt_delete_entry(0, FORWARDING, handle)
    expect(True, "the other program runs after the swap, and its entries keep their handles")


def main():
    command("ip", "link", "set", "lo", "up")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wires = {port: Wire(port) for port in (1, 2)}
        link = folder / "simple_switch"
        link.symlink_to(FOREBAY)
        (folder / "s1-commands.txt").write_text(COMMANDS)
        ports = [f"{port}@{wire.near}" for port, wire in wires.items()]
        program, commands = str(HERE / "entities.p4"), str(folder / "s1-commands.txt")
        process = subprocess.Popen([str(link), "-i", *ports, "--device-id", str(DEVICE), "--entries", commands, program])
        try:
            wait_for(f"127.0.0.1:{PORT}")
            client = connect(bmv2.Standard, "standard")
            tables(client, wires)
            profiles(client)
            arrays(client)
            digests(client, wires)
            idle_entries_and_ports(client, wires)
            others(client)
            by_command(folder)
            reset(client, wires)
            swap(client, wires)
        finally:
            process.terminate()
            process.wait(timeout=10)


main()
