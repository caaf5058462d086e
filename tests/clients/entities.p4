// A program with every kind of entity that P4Runtime knows, for tests of the control plane: a small switch that learns
// addresses, routes through a selector, filters, meters, mirrors, and talks to a controller.

#include <core.p4>
#include <v1model.p4>

#define CPU_PORT 510

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> padding;
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> reason;
}

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> total_len;
    bit<16> identification;
    bit<3> flags;
    bit<13> frag_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> hdr_checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t packet_in;
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {
    bit<2> color;
    bit<1> is_special;
    bit<32> spread;
}

struct learned_t {
    bit<48> address;
    bit<9> port;
}

parser EntityParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    value_set<bit<16>>(4) special_types;

    state start {
        transition select(standard_metadata.ingress_port) {
            CPU_PORT: parse_packet_out;
            default: parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0800: parse_ipv4;
            special_types: parse_special;
            default: accept;
        }
    }

    state parse_special {
        meta.is_special = 1;
        transition accept;
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control EntityVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control EntityIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(512, CounterType.packets_and_bytes) port_counter;
    meter(512, MeterType.packets) port_meter;
    register<bit<32>>(16) last_source;
    direct_counter(CounterType.packets_and_bytes) forward_counter;
    direct_meter<bit<2>>(MeterType.bytes) filter_meter;
    action_selector(HashAlgorithm.crc16, 32w64, 32w10) next_hop_selector;
    action_profile(32w16) class_profile;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action flood(bit<16> group) {
        standard_metadata.mcast_grp = group;
    }

    action to_controller(bit<7> reason) {
        standard_metadata.egress_spec = CPU_PORT;
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = standard_metadata.ingress_port;
        hdr.packet_in.reason = reason;
    }

    table forwarding {
        key = {
            hdr.ethernet.dst_addr: exact;
        }
        actions = {
            forward;
            flood;
            to_controller;
            drop;
            @defaultonly NoAction;
        }
        default_action = NoAction();
        counters = forward_counter;
        support_timeout = true;
        size = 1024;
    }

    action learn() {
        digest<learned_t>(1, { hdr.ethernet.src_addr, standard_metadata.ingress_port });
    }

    table learning {
        key = {
            hdr.ethernet.src_addr: exact;
        }
        actions = {
            NoAction;
            learn;
        }
        const default_action = learn();
        size = 1024;
    }

    action set_next_hop(bit<48> dst_addr, bit<9> port) {
        hdr.ethernet.dst_addr = dst_addr;
        standard_metadata.egress_spec = port;
    }

    table routing {
        key = {
            hdr.ipv4.dst_addr: lpm;
            hdr.ipv4.src_addr: selector;
        }
        actions = {
            set_next_hop;
            drop;
            @defaultonly NoAction;
        }
        implementation = next_hop_selector;
        size = 1024;
    }

    action mirror(bit<32> session) {
        clone(CloneType.I2E, session);
    }

    action allow() {}

    table filter {
        key = {
            hdr.ipv4.src_addr: ternary;
            hdr.ipv4.total_len: range;
            standard_metadata.ingress_port: optional;
        }
        actions = {
            allow;
            drop;
            mirror;
            @defaultonly NoAction;
        }
        meters = filter_meter;
        size = 128;
    }

    action set_tos(bit<8> tos) {
        hdr.ipv4.tos = tos;
    }

    table classes {
        key = {
            hdr.ipv4.protocol: exact;
        }
        actions = {
            set_tos;
            @defaultonly NoAction;
        }
        implementation = class_profile;
        size = 64;
    }

    table fixed {
        key = {
            hdr.ethernet.ether_type: exact;
        }
        actions = {
            NoAction;
            drop;
        }
        const entries = {
            0x88cc: drop();
            0x8809: drop();
        }
        const default_action = NoAction();
    }

    apply {
        if (hdr.packet_out.isValid()) {
            standard_metadata.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            return;
        }
        bit<32> index = (bit<32>) standard_metadata.ingress_port;
        port_counter.count(index);
        port_meter.execute_meter(index, meta.color);
        last_source.write(index & 15, hdr.ethernet.src_addr[31:0]);
        hash(meta.spread, HashAlgorithm.crc32_custom, 32w0, { hdr.ethernet.src_addr }, 32w0xFFFFFFFF);
        if (fixed.apply().hit || meta.is_special == 1) {
            drop();
            return;
        }
        learning.apply();
        if (!forwarding.apply().hit && hdr.ipv4.isValid()) {
            routing.apply();
            classes.apply();
        }
        if (hdr.ipv4.isValid()) {
            filter.apply();
            filter_meter.read(meta.color);
        }
    }
}

control EntityEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control EntityCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control EntityDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(EntityParser(), EntityVerify(), EntityIngress(), EntityEgress(), EntityCompute(), EntityDeparser()) main;
