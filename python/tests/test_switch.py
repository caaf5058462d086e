"""Switches: packets one by one and in batches, tables and objects, what is refused."""

import threading
import time

import numpy as np
import pytest

from forebay import (
    Batch,
    ControlError,
    Group,
    LoadError,
    Masked,
    Member,
    Packet,
    Prefix,
    Range,
    Rates,
    Switch,
    compile,
    examples,
)
from forebay.testing import assert_output

ROUTER = examples.path("router.p4")
REFLECTOR = examples.path("reflector.p4")

HASHES = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<48> to; bit<48> from; bit<16> kind; bit<16> narrow; bit<32> wide; }
struct headers_t { h_t h; }
struct metadata_t {}
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start { packet.extract(hdr.h); transition accept; }
}
control Nothing(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hash(hdr.h.narrow, HashAlgorithm.crc16_custom, 16w0, { hdr.h.from }, 32w0x10000);
        hash(hdr.h.wide, HashAlgorithm.crc32_custom, 32w0, { hdr.h.from }, 33w0x100000000);
        standard_metadata.egress_spec = 2;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }
V1Switch(P(), Nothing(), I(), E(), Nothing(), D()) main;
"""

TABLES = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; bit<8> c; bit<128> wide; }
struct headers_t { h_t h; }
struct metadata_t {}
struct news_t { bit<8> a; bit<128> wide; }
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start { packet.extract(hdr.h); transition accept; }
}
control Nothing(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<128>>(4) wide;
    direct_counter(CounterType.packets) hits;
    direct_meter<bit<2>>(MeterType.bytes) rates;
    action_selector(HashAlgorithm.crc16, 16, 8) choice;
    action out_of(bit<9> port) { standard_metadata.egress_spec = port; }
    action loop() { resubmit_preserving_field_list(0); }
    action copy() { standard_metadata.mcast_grp = 1; }
    action tell() { digest<news_t>(1, { hdr.h.a, hdr.h.wide }); clone(CloneType.I2E, 5); }
    table mixed {
        key = { hdr.h.a: exact; hdr.h.b: ternary; hdr.h.c: range; }
        actions = { out_of; loop; copy; tell; }
        counters = hits;
    }
    table chosen {
        key = { hdr.h.a: optional; hdr.h.wide: selector; }
        actions = { out_of; }
        implementation = choice;
    }
    table metered { key = { hdr.h.a: exact; } actions = { NoAction; } meters = rates; }
    apply {
        bit<2> colour;
        mark_to_drop(standard_metadata);
        if (!mixed.apply().hit) { chosen.apply(); }
        metered.apply();
        wide.write((bit<32>) hdr.h.a & 3, hdr.h.wide);
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }
V1Switch(P(), Nothing(), I(), E(), Nothing(), D()) main;
"""


def frame(a: int, b: int = 0, c: int = 0, wide: int = 0) -> bytes:
    return bytes([a, b, c]) + wide.to_bytes(16, "big")


@pytest.fixture(params=["jit", "interp"])
def tables(request: pytest.FixtureRequest) -> Switch:
    return Switch(compile(TABLES), ports=8, engine=request.param)


def test_every_kind_of_key(tables: Switch) -> None:
    mixed = tables.table("mixed")
    mixed.add({"a": 1, "b": "0x10&&&0xf0", "c": "5..9"}, "out_of", {"port": 2})
    mixed.add({"a": 1, "b": Masked(0, 0), "c": Range(0, 255)}, "out_of", {"port": 3}, priority=7)
    mixed.add({"hdr.h.a": b"\x02"}, "I.out_of", {"port": "0x4"})
    assert [entry.key for entry in mixed.entries] == [
        {"hdr.h.a": 1, "hdr.h.b": Masked(16, 240), "hdr.h.c": Range(5, 9)},
        {"hdr.h.a": 1, "hdr.h.b": Masked(0, 0), "hdr.h.c": Range(0, 255)},
        {"hdr.h.a": 2, "hdr.h.b": Masked(0, 0), "hdr.h.c": Range(0, 255)},
    ]
    assert [entry.priority for entry in mixed.entries] == [1, 7, 1]
    assert tables.send(frame(1, 0x12, 7)) == [Packet(3, frame(1, 0x12, 7))]
    mixed.remove({"a": 1, "b": Masked(0, 0), "c": "0..255"}, priority=7)
    assert tables.send(frame(1, 0x12, 7))[0].port == 2
    key = {"a": 1, "b": "0x10&&&0xf0", "c": "5..9"}
    mixed.modify(key, "out_of", {"port": 5})
    assert tables.send(frame(1, 0x12, 7))[0].port == 5
    assert mixed.count(key) == (2, 0)
    mixed.clear()
    assert len(mixed) == 0 and tables.send(frame(1, 0x12, 7)) == []


def test_action_profiles(tables: Switch) -> None:
    profile, chosen = tables.action_profile("choice"), tables.table("chosen")
    profile.add_member(1, "out_of", {"port": 1})
    profile.add_member(2, "out_of", {"port": 2})
    profile.add_group(9, {1: 1, 2: 1})
    chosen.add({"a": 7}, Member(2))
    chosen.add({}, Group(9), priority=3)
    assert [entry.action for entry in chosen.entries] == [Member(2), Group(9)]
    chosen.modify({"a": 7}, Member(1), priority=1)
    ports = {tables.send(frame(8, wide=wide))[0].port for wide in range(32)}
    assert ports == {1, 2}
    with pytest.raises(ControlError):
        profile.remove_member(1)


def test_copies_clones_and_digests(tables: Switch) -> None:
    tables.multicast_group(1, [1, (2, 7), 3])
    tables.clone_session(5, [6], packet_length_bytes=2)
    mixed = tables.table("mixed")
    mixed.add({"a": 1}, "copy")
    mixed.add({"a": 2}, "tell")
    assert sorted(packet.port for packet in tables.send(frame(1))) == [1, 2, 3]
    assert tables.send(frame(2, wide=1 << 100)) == [Packet(6, frame(2)[:2])]
    [digest] = tables.digests()
    assert digest.fields == {"a": 2, "wide": 1 << 100}
    books = tables.books
    assert books.received + books.copies == books.transmitted + books.dropped


def test_wide_registers_and_direct_meters(tables: Switch) -> None:
    tables.send(frame(3, wide=1 << 127))
    wide = tables.register("wide")
    assert wide.read() == [0, 0, 0, 1 << 127] and wide[3] == 1 << 127
    wide.write([5, 6], first=1)
    assert wide.read(1, 2) == [5, 6]
    wide.reset()
    assert wide[1] == 0
    metered = tables.table("metered")
    metered.add({"a": 1}, "NoAction")
    metered.set_rates({"a": 1}, Rates(1, 1, 1, 1))
    with pytest.raises(ControlError, match=r"register `I.wide`: the value needs 129 bits, there are 128"):
        wide[0] = 1 << 128


def test_parameters_of_hashes() -> None:
    program = compile(HASHES)
    assert program.calculations == {"calc": "crc16_custom", "calc_0": "crc32_custom"}
    switch = Switch(program, ports=4)
    octets = bytes(6) + b"123456" + bytes(2 + 10)
    assert switch.send(octets)[0].data[14:20].hex() == "29e40972d361"
    switch.set_crc_parameters("calc", polynomial=0x1021)
    switch.set_crc_parameters(
        "calc_0",
        polynomial=0x741B8CD7,
        initial=2**32 - 1,
        final_xor=2**32 - 1,
        reflect_data=True,
        reflect_remainder=True,
    )
    assert switch.send(octets)[0].data[14:20].hex() == "20e4dd890fb1"
    with pytest.raises(ControlError, match=r"`calc`: the value for `polynomial` does not fit in 16 bits"):
        switch.set_crc_parameters("calc", polynomial=0x11021)
    with pytest.raises(ControlError, match=r"there is no hash with parameters `calc_1`; there is `calc`, `calc_0`"):
        switch.set_crc_parameters("calc_1", polynomial=7)


def test_a_packet_that_goes_round_for_ever_ends(tables: Switch) -> None:
    tables.table("mixed").add({"a": 1}, "loop")
    assert tables.send(frame(1)) == []
    assert tables.drops == {"resubmit_limit": 1}


def test_what_is_refused_has_a_message() -> None:
    switch = Switch(ROUTER, ports=4)
    table = switch.table("ipv4_lpm")
    with pytest.raises(ControlError, match=r"there is no table `ipv4_lmp`; did you mean `ipv4_lpm`\?"):
        switch.table("ipv4_lmp")
    with pytest.raises(ControlError, match="there is no key field `dst`"):
        table.add({"dst": 1}, "forward", {"port": 1, "mac": 1})
    with pytest.raises(ControlError, match="there is no argument for `mac`"):
        table.add({"dst_addr": "10.0.0.0/8"}, "forward", {"port": 1})
    with pytest.raises(ControlError, match="argument `port`: the value needs 10 bits, there are 9"):
        table.add({"dst_addr": "10.0.0.0/8"}, "forward", {"port": 512, "mac": 0})
    with pytest.raises(ControlError, match=r"a field that is matched as lpm is written"):
        table.add({"dst_addr": Range(1, 2)}, "drop")
    with pytest.raises(ControlError, match=r"there is no register `sen`; there is `Routing.seen`"):
        switch.register("sen")
    with pytest.raises(ControlError):
        switch.register("seen")[512]
    with pytest.raises(ValueError, match=r"there is no port 511: programs for v1model have ports 0 to 510"):
        Switch(ROUTER, ports=1000)
    with pytest.raises(ValueError, match=r"there is no port 4; ports are 0 to 3"):
        switch.send(bytes(64), port=4)
    with pytest.raises(ValueError, match="is no number"):
        table.add({"dst_addr": "next"}, "drop")
    with pytest.raises(ControlError, match=r"commands:2: there is no table"):
        switch.apply("# nothing\nadd nothing a:1 b()")
    with pytest.raises(LoadError, match="may have"):
        Switch(ROUTER, memory_limit_bytes=1000)
    with pytest.raises(ValueError, match=r"port = -1 must be at least 0 and at most 4294967295"):
        switch.send(bytes(64), port=-1)
    assert table.entries == []


def test_defaults(tables: Switch) -> None:
    switch = Switch(ROUTER)
    table = switch.table("Routing.ipv4_lpm")
    assert table.default.action == "Routing.drop"
    table.set_default("forward", {"port": 9, "mac": 5})
    assert table.default.args == {"port": 9, "mac": 5}
    table.set_default(None)
    assert table.default.action == "Routing.drop"
    table.add({"dst_addr": Prefix("10.0.0.0", 8)}, "drop")
    with pytest.raises(ControlError):
        table.add({"dst_addr": "10.0.0.0/8"}, "drop")


def test_batches_are_what_packets_one_by_one_are() -> None:
    random = np.random.default_rng(7)
    packets = [bytes(random.integers(0, 256, size, dtype=np.uint8)) for size in random.integers(1, 200, 500)]
    ports = random.integers(0, 8, 500)
    alone, together = Switch(REFLECTOR, ports=8), Switch(REFLECTOR, ports=8)
    one_by_one = [left for packet, port in zip(packets, ports, strict=True) for left in alone.send(packet, int(port))]
    batch = together.send_batch(packets, ports)
    by_origin = sorted(zip(batch.origins.tolist(), batch.packets(), strict=True))
    assert [packet for _, packet in by_origin] == one_by_one
    assert alone.books == together.books


def test_memory_of_results_is_used_again_when_nothing_refers_to_it() -> None:
    switch = Switch(REFLECTOR, ports=1)
    matrices = [np.full((100, 64), value, dtype=np.uint8) for value in range(8)]
    kept = [switch.send_batch(Batch.of_matrix(matrix)) for matrix in matrices[:4]]
    cut = kept[3].data[64:128]
    kept = kept[:3]
    # Three results and a row of the fourth: nothing may be written into them.
    more = [switch.send_batch(Batch.of_matrix(matrix)) for matrix in matrices[4:]]
    for left, matrix in zip([*kept, *more], [*matrices[:3], *matrices[4:]], strict=True):
        assert np.array_equal(left.matrix(), matrix)
    assert (cut == 3).all()
    places = set()
    for matrix in matrices:
        left = switch.send_batch(Batch.of_matrix(matrix))
        assert np.array_equal(left.matrix(), matrix)
        places.add(left.data.__array_interface__["data"][0])
    assert len(places) <= 4


def test_batches_of_every_form() -> None:
    switch = Switch(REFLECTOR, ports=3)
    assert len(switch.send_batch([])) == 0
    matrix = np.arange(60, dtype=np.uint8).reshape(3, 20)
    left = switch.send_batch(Batch.of_matrix(matrix[:, ::2], ports=[0, 1, 2]))
    assert np.array_equal(left.matrix(), matrix[:, ::2])
    assert left == Batch.of([bytes(row) for row in matrix[:, ::2]], ports=[0, 1, 2])
    again = switch.send_batch(left)
    assert again == left
    assert left[-1] == bytes(matrix[2, ::2]) and left[0:2] == [left[0], left[1]]
    with pytest.raises(ValueError, match="give one port, or one for each packet"):
        switch.send_batch([b"a", b"b"], ports=[1])
    with pytest.raises(ValueError, match="type uint8"):
        Batch.of_matrix([[1, 2]])
    with pytest.raises(ValueError, match="are no matrix"):
        Batch.of([b"a", b"bc"]).matrix()
    wrong = Batch(left.data, np.array([0, 50, 10, 60], dtype=np.int64), left.ports, left.origins)
    with pytest.raises(ValueError, match="offsets must not fall"):
        switch.send_batch(wrong)
    with pytest.raises(IndexError):
        left[3]


def test_results_go_where_they_are_told() -> None:
    switch = Switch(REFLECTOR, ports=3)
    memory = Batch.room(packets=10, octets=100)
    assert len(memory) == 10 and memory[3] == b""
    sent = Batch.of([b"abcdefghijklmn", b"opqrstuvwxyz01234"], ports=[2, 1])
    left = switch.send_batch(sent, out=memory)
    assert left == sent and left.origins.tolist() == [0, 1]
    assert all(np.shares_memory(*pair) for pair in zip(vars(left).values(), vars(memory).values(), strict=True))
    smaller = switch.send_batch([b"x" * 14], ports=1, out=memory)
    assert list(smaller.packets()) == [(1, b"x" * 14)] and smaller.data.base is memory.data
    assert left[0] == b"x" * 14, "what was there is overwritten"
    none = switch.send_batch([], out=memory)
    assert len(none) == 0 and none.offsets.tolist() == [0]


@pytest.mark.parametrize(("packets", "octets"), [(0, 0), (99, 10_000), (500, 1_000), (200, 1_000_000)])
def test_results_that_do_not_fit_are_elsewhere(packets: int, octets: int) -> None:
    frames = Batch.of([bytes([number % 256]) * (14 + number % 50) for number in range(300)], ports=1)
    left = Switch(REFLECTOR, ports=2).send_batch(frames, out=Batch.room(packets, octets))
    assert left == frames and left.origins.tolist() == list(range(300))


def test_packets_that_multiply(tables: Switch) -> None:
    tables.multicast_group(1, [1, 2, 3])
    tables.table("mixed").add({"a": 1}, "copy")
    left = tables.send_batch([frame(1, wide=number) for number in range(1_000)])
    assert np.bincount(left.ports).tolist() == [0, 1_000, 1_000, 1_000]
    assert np.array_equal(np.sort(left.origins), np.repeat(np.arange(1_000), 3))
    assert all(left[place] == frame(1, wide=int(left.origins[place])) for place in range(3_000))


def test_packets_among_dropped_ones_keep_their_origins(tables: Switch) -> None:
    tables.table("mixed").add({"a": 1}, "out_of", {"port": 2})
    left = tables.send_batch([frame(min(number % 3, 1), wide=number) for number in range(1_000)])
    kept = [number for number in range(1_000) if number % 3]
    assert left.origins.tolist() == kept
    assert list(left.packets()) == [(2, frame(1, wide=number)) for number in kept]


def test_memory_for_results_must_be_right() -> None:
    switch = Switch(REFLECTOR, ports=2)
    sent = Batch.of_matrix(np.full((2, 14), 97, dtype=np.uint8), ports=1)
    with pytest.raises(ValueError, match="memory in common"):
        switch.send_batch(sent, out=sent)
    with pytest.raises(ValueError, match="memory in common"):
        switch.send_batch(sent, out=Batch(sent.data[14:], *(array.copy() for array in list(vars(sent).values())[1:])))
    read_only = Batch.room(2, 100)
    read_only.data.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        switch.send_batch(sent, out=read_only)
    with pytest.raises(TypeError, match="out is a Batch, not ndarray"):
        switch.send_batch(sent, out=np.zeros(100, dtype=np.uint8))  # type: ignore[arg-type]
    memory = Batch.room(2, 100)
    for wrong in (
        Batch(memory.data.astype(np.uint16), memory.offsets, memory.ports, memory.origins),
        Batch(memory.data[::2], memory.offsets, memory.ports, memory.origins),
        Batch(memory.data.reshape(2, 50), memory.offsets, memory.ports, memory.origins),
    ):
        with pytest.raises((TypeError, ValueError)):
            switch.send_batch(sent, out=wrong)
    with pytest.raises(ValueError, match="at least one offset"):
        switch.send_batch(sent, out=Batch(memory.data, memory.offsets[:0], memory.ports, memory.origins))
    for packets, octets in ((-1, 0), (0, -1), (2**60, 0)):
        with pytest.raises(ValueError, match="must be at least 0"):
            Batch.room(packets, octets)
    with pytest.raises(ValueError, match="there is no port 7"):
        switch.send_batch(sent, ports=7, out=memory)
    assert switch.send_batch(sent, out=memory) == sent


def test_other_threads_run_meanwhile() -> None:
    switch = Switch(REFLECTOR, ports=1)
    batch = Batch.of_matrix(np.zeros((300_000, 256), dtype=np.uint8))
    done = threading.Event()

    def send() -> None:
        for _ in range(5):
            switch.send_batch(batch)
        done.set()

    thread = threading.Thread(target=send)
    thread.start()
    turns = 0
    while not done.is_set():
        time.sleep(0.001)
        turns += 1
    thread.join()
    assert turns > 10


def test_time_is_the_callers() -> None:
    switch = Switch(ROUTER, ports=2)
    switch.meter("police")[0] = Rates(1, 1, 1, 1)
    switch.table("ipv4_lpm").add({"dst_addr": "0.0.0.0/0"}, "forward", {"port": 1, "mac": 1})
    packet = bytes(switch.program.packets.build(ethernet={"ether_type": 0x800}, ipv4={"ttl": 9}))
    first = len(switch.send(packet))
    second = len(switch.send(packet))
    switch.advance(5)
    assert (first, second, len(switch.send(packet))) == (1, 0, 1)
    with pytest.raises(ValueError, match="does not go back"):
        switch.advance(-1)


def test_a_trace_has_steps_and_outputs() -> None:
    switch = Switch(ROUTER, ports=4)
    switch.table("ipv4_lpm").add({"dst_addr": "10.0.0.0/8"}, "forward", {"port": 2, "mac": 1})
    packet = switch.program.packets.build(ethernet={"ether_type": 0x800}, ipv4={"ttl": 9, "dst_addr": "10.1.1.1"})
    trace = switch.trace(bytes(packet))
    [lookup] = trace.of("lookup")
    assert lookup["hit"] and lookup["table"] == "Routing.ipv4_lpm"
    assert trace.outputs[0].port == 2
    assert "router.p4:" in trace.text
    assert switch.counter("arrived")[0].packets == 1


def test_expected_packets_may_be_any_bytes() -> None:
    reflector = Switch(examples.path("reflector.p4"), ports=2)
    for kind in (bytes, bytearray, memoryview):
        for expected in (kind(b"some packet"), [kind(b"some packet")]):
            assert assert_output(reflector, b"some packet", {1: expected}, port=1)
    with pytest.raises(TypeError, match="a packet is bytes"):
        assert_output(reflector, b"some packet", {1: [11]}, port=1)  # type: ignore[list-item]
