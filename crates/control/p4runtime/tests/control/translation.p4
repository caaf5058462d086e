// Types that `@p4runtime_translation` gives to controllers as strings or as wider numbers, as SAI P4 has them: without a
// URI, a mapping for the default, ports in the headers of packets.
#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("", string)
type bit<16> nexthop_t;

@p4runtime_translation("", string)
type bit<4> group_t;

@p4runtime_translation("", string)
@p4runtime_translation_mappings({ {"", 0}, {"management", 9} })
type bit<10> vrf_t;

@p4runtime_translation("", string)
type bit<9> port_id_t;

@p4runtime_translation("example.org/wide", 32)
type bit<9> wide_t;

@controller_header("packet_in")
header packet_in_t {
    port_id_t ingress_port;
    bit<7> padding;
}

@controller_header("packet_out")
header packet_out_t {
    port_id_t egress_port;
    bit<7> padding;
}

header small_t {
    bit<16> nexthop;
    bit<4> group;
    bit<4> padding;
    bit<16> vrf;
    bit<16> wide;
}

struct state_t {
    bit<7> age;
    wide_t port;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    small_t small;
}

struct metadata_t {}

parser TParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
               inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.small);
        transition accept;
    }
}

control TVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<wide_t>(2) wide_register;
    register<state_t>(2) states;
    register<vrf_t>(2) vrf_register;
    @single_rate_two_color meter(4, MeterType.bytes) limited_meter;

    action_selector(HashAlgorithm.crc16, 32w16, 32w10) selector;

    action send(port_id_t port) {
        standard_metadata.egress_spec = (bit<9>) port;
    }

    action set_vrf(vrf_t vrf) {
        vrf_register.write(0, vrf);
    }

    table nexthops {
        key = {
            (nexthop_t) hdr.small.nexthop: exact;
        }
        actions = {
            send;
            set_vrf;
        }
        size = 64;
    }

    table by_group {
        key = {
            (group_t) hdr.small.group: exact;
        }
        actions = {
            send;
        }
        size = 16;
    }

    table acl {
        key = {
            (group_t) hdr.small.group: ternary @name("group");
            (wide_t) hdr.small.wide[8:0]: ternary @name("wide");
        }
        actions = {
            send;
        }
    }

    table selected {
        key = {
            hdr.small.vrf: exact;
            hdr.small.wide: selector;
        }
        actions = {
            send;
        }
        implementation = selector;
    }

    apply {
        bit<2> color;
        limited_meter.execute_meter(32w1, color);
        nexthops.apply();
        by_group.apply();
        acl.apply();
        selected.apply();
        wide_register.write(0, (wide_t) hdr.small.wide[8:0]);
        states.write(0, { 1, (wide_t) hdr.small.wide[8:0] });
    }
}

control TEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control TCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.small);
    }
}

V1Switch(TParser(), TVerify(), TIngress(), TEgress(), TCompute(), TDeparser()) main;
