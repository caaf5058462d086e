// Computes on the first 64 bytes of IP payload in RECIRCULATIONS + 1 passes, recirculating whole packets: what p4qrs is compared
// with. The first pass computes nothing, the last takes the packet to its output port.

#include <core.p4>
#include <v1model.p4>
#include "../common/rendezvous.p4"

#define PRESERVED_BY_RECIRCULATION 1

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    data_t data;
}

struct metadata_t {
#if COMPUTATION == CHACHA
    // The packet's own data, while `hdr.data` is what is computed.
    @field_list(PRESERVED_BY_RECIRCULATION)
    bit<512> own;
#endif
    @field_list(PRESERVED_BY_RECIRCULATION)
    bit<8> passes;
    // One of the unit's two ports, which packets take in turn.
    @field_list(PRESERVED_BY_RECIRCULATION)
    bit<9> recirculation_port;
}

parser RecirculateParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                         inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl) {
            (4, 5): parse_data;
            default: accept;
        }
    }

    state parse_data {
        packet.extract(hdr.data);
        transition accept;
    }
}

control RecirculateVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control RecirculateIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<1>>(512) turns;
    ComputeInIngress() compute;
    bit<9> output_port;
    bit<9> first_port;
    bit<9> other_port;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action join_unit(bit<9> recirculation_port_0, bit<9> recirculation_port_1, bit<9> out_port) {
        first_port = recirculation_port_0;
        other_port = recirculation_port_1;
        output_port = out_port;
    }

    table units {
        key = {
            standard_metadata.ingress_port: exact;
        }
        actions = {
            join_unit;
            @defaultonly drop;
        }
        default_action = drop();
        size = 512;
    }

    action take_turn() {
        @atomic {
            bit<1> turn;
            turns.read(turn, (bit<32>) standard_metadata.ingress_port);
            turns.write((bit<32>) standard_metadata.ingress_port, turn + 1);
            meta.recirculation_port = turn == 0 ? first_port : other_port;
        }
    }

    apply {
        if (!hdr.data.isValid() || standard_metadata.parser_error != error.NoError) {
            drop();
            return;
        }
        if (meta.passes == 0) {
            KEEP_DATA(meta.own)
            begin_computation(hdr.data, hdr.ipv4);
        } else {
            compute.apply(hdr.data, meta.passes);
        }
        if (units.apply().hit) {
            if (meta.passes == 0) {
                take_turn();
            }
            standard_metadata.egress_spec = meta.passes == RECIRCULATIONS ? output_port : meta.recirculation_port;
        }
    }
}

control RecirculateEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    ComputeInEgress() compute;

    apply {
        if (meta.passes > 0) {
            compute.apply(hdr.data);
        }
        if (meta.passes == RECIRCULATIONS) {
            COMBINE_DATA(meta.own)
        } else {
            meta.passes = meta.passes + 1;
            recirculate_preserving_field_list(PRESERVED_BY_RECIRCULATION);
        }
    }
}

control RecirculateComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control RecirculateDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.data);
    }
}

V1Switch(RecirculateParser(), RecirculateVerifyChecksum(), RecirculateIngress(), RecirculateEgress(),
         RecirculateComputeChecksum(), RecirculateDeparser()) main;
