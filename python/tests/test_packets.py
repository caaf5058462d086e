"""Packets of a program's own headers."""

import pickle

import pytest

from forebay import Switch, compile, examples
from forebay.packets import PacketValue

STACK = """
#include <core.p4>
#include <v1model.p4>
header label_t { bit<20> label; bit<3> tc; bit<1> bottom; bit<8> ttl; }
header options_t { bit<8> words; varbit<64> data; }
struct headers_t { label_t[3] mpls; options_t options; }
struct metadata_t {}
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.mpls.next);
        transition select(hdr.mpls.last.bottom) { 0: start; 1: options; }
    }
    state options {
        bit<8> words = packet.lookahead<bit<8>>();
        packet.extract(hdr.options, (bit<32>) words * 16);
        transition accept;
    }
}
control Nothing(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { standard_metadata.egress_spec = 1; }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), Nothing(), I(), E(), Nothing(), D()) main;
"""


def test_stacks_and_varbits() -> None:
    program = compile(STACK)
    codec = program.packets
    packet = codec.build(
        payload=b"rest",
        **{"mpls[0]": {"label": 16, "ttl": 9}, "mpls[1]": {"label": 17, "bottom": 1}, "options": {"words": 2}},
    )
    packet["options"].set_varbit("data", b"abcd")
    data = bytes(packet)
    assert data.hex() == "0001000900011100" + "02" + b"abcdrest".hex()
    again = codec.parse(data)
    assert again == packet and bytes(again) == data
    assert again["hdr.mpls[1]"].label == 17 and again.options.data == int.from_bytes(b"abcd", "big")
    assert "mpls[2]" not in again
    assert Switch(program).send(data)[0].data == data


def test_a_varbit_has_the_length_of_its_bytes() -> None:
    codec = compile(STACK).packets
    packet = codec.build(options={"words": 1, "data": b"\0\1"})
    assert bytes(packet).hex() == "010001"
    packet.options.data = 0x200
    assert bytes(packet).hex() == "010200"
    with pytest.raises(ValueError, match="has 16 bits, 0x10000 needs 17"):
        packet.options.data = 0x10000
    with pytest.raises(ValueError, match="has at most 64 bits, not 72"):
        packet.options.set_varbit("data", bytes(9))
    other = codec.build(options={"words": 1, "data": b"\2\0\0"})
    other.options.data = 0x200
    assert packet != other
    assert packet.differences(other) == ["hdr.options.data: 16 and 24 bits"]


def test_a_packet_that_is_too_short_keeps_its_bytes() -> None:
    codec = compile(examples.path("router.p4")).packets
    cut = bytes(codec.build(ethernet={"ether_type": 0x800}, ipv4={"ttl": 1}))[:20]
    packet = codec.parse(cut)
    assert [header.name for header in packet.headers] == ["hdr.ethernet"]
    assert packet.payload == cut[14:] and bytes(packet) == cut


def test_differences_name_headers_fields_and_payload() -> None:
    codec = compile(examples.path("router.p4")).packets
    one = codec.build(ethernet={"ether_type": 1}, payload=b"a")
    other = codec.build(ethernet={"ether_type": 2}, ipv4={}, payload=b"")
    assert one.differences(other) == [
        "hdr.ipv4 is only in the second",
        "hdr.ethernet.ether_type: 0x0001 and 0x0002",
        "payload: 61 and empty",
    ]
    assert one == bytes(one) and one != other


def test_order_and_repeated_headers_differ_too() -> None:
    codec = compile(examples.path("router.p4")).packets
    one, other = codec.build(ethernet={}, ipv4={}), codec.build(ipv4={}, ethernet={})
    assert one != other
    assert one.differences(other) == ["order: hdr.ethernet, hdr.ipv4 and hdr.ipv4, hdr.ethernet"]
    first, second = ([codec.header("ipv4", {"ttl": ttl}) for ttl in ttls] for ttls in ((1, 2), (3, 2)))
    assert PacketValue(first).differences(PacketValue(second)) == ["hdr.ipv4.ttl: 0x01 and 0x03"]
    assert PacketValue(first).differences(PacketValue(second[:1]))[0] == "hdr.ipv4 (2) is only in the first"


def test_a_header_is_not_set_as_an_attribute() -> None:
    codec = compile(examples.path("router.p4")).packets
    packet = codec.build(ethernet={}, ipv4={})
    for name in ("ipv4", "payloads"):
        with pytest.raises(AttributeError, match=rf"a packet has no '{name}' to set"):
            setattr(packet, name, codec.header("ipv4", {"ttl": 1}))
    packet.payload = b"ping"
    assert bytes(packet).endswith(b"ping") and pickle.loads(pickle.dumps(packet)) == packet


def test_what_does_not_exist_is_said() -> None:
    codec = compile(examples.path("router.p4")).packets
    with pytest.raises(KeyError, match=r"no header 'ipv6'; it has hdr.ethernet, hdr.ipv4"):
        codec.build(ipv6={})
    with pytest.raises(AttributeError, match=r"hdr.ipv4 has no field 'tll'"):
        codec.header("ipv4", {"tll": 1})
    with pytest.raises(ValueError, match=r"hdr.ipv4.ttl has 8 bits, 0x100 needs 9"):
        codec.header("ipv4", {"ttl": 256})
    packet = codec.build(ethernet={})
    with pytest.raises(AttributeError, match="the packet has no header 'ipv4'"):
        _ = packet.ipv4
