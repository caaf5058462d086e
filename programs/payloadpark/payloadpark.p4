// Computes on the first 64 bytes of IP payload in RECIRCULATIONS + 1 passes. Up to 160 bytes after them are kept in registers
// meanwhile, so that shorter packets are recirculated. See README.md.

#include <core.p4>
#include <v1model.p4>
#include "../common/rendezvous.p4"

// Packets that can have bytes in the registers at a time. With more inside, the oldest lose theirs, and are dropped.
#ifndef KEY_BITS
#define KEY_BITS 15
#endif
#define KEYS (1 << KEY_BITS)

// What is parked: up to ten pieces of 16 bytes.
#define PIECES 10

// By index of the counter `outcomes`.
const bit<32> OUTCOME_RETURNED = 0;
const bit<32> OUTCOME_LOST = 1;
const bit<32> OUTCOME_UNFIT = 2;

#define PRESERVED_BY_RECIRCULATION 1

header piece_t {
    bit<128> bytes;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    data_t data;
    piece_t[PIECES] pieces;
}

struct metadata_t {
#if COMPUTATION == CHACHA
    // The packet's own data, while `hdr.data` is what is computed.
    @field_list(PRESERVED_BY_RECIRCULATION)
    bit<512> own;
#endif
    @field_list(PRESERVED_BY_RECIRCULATION)
    bit<8> passes;
    // Identifies the packet in the registers: its last bits are the index of its pieces. `parked` is the number of its pieces.
    @field_list(PRESERVED_BY_RECIRCULATION)
    bit<32> identifier;
    @field_list(PRESERVED_BY_RECIRCULATION)
    bit<8> parked;
    // Pieces that are still to be parsed.
    bit<8> left;
}

parser ParkParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
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
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.total_len) {
            (4, 5, 84 .. 0xffff): parse_data;
            default: accept;
        }
    }

    state parse_data {
        packet.extract(hdr.data);
        bit<16> rest = (hdr.ipv4.total_len - 84) >> 4;
        meta.left = rest > PIECES ? 8w10 : rest[7:0];
        transition select(standard_metadata.instance_type) {
            INSTANCE_RECIRCULATED: accept;
            default: count_pieces;
        }
    }

    state count_pieces {
        meta.parked = meta.left;
        transition parse_piece;
    }

    state parse_piece {
        transition select(meta.left) {
            0: accept;
            default: take_piece;
        }
    }

    state take_piece {
        packet.extract(hdr.pieces.next);
        meta.left = meta.left - 1;
        transition parse_piece;
    }
}

control ParkVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

// A piece of every parked packet: kept when the packet comes, given back when it leaves.
#define KEPT(i) register<bit<128>>(KEYS) kept##i;
#define PARK_OR_RETURN(i) \
    if (i < meta.parked) { \
        if (is_last) { \
            hdr.pieces[i].setValid(); \
            kept##i.read(hdr.pieces[i].bytes, (bit<32>) meta.identifier[KEY_BITS - 1:0]); \
        } else { \
            kept##i.write((bit<32>) meta.identifier[KEY_BITS - 1:0], hdr.pieces[i].bytes); \
            hdr.pieces[i].setInvalid(); \
        } \
    }
#define EACH_PIECE(each) each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7) each(8) each(9)

control ParkIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(3, CounterType.packets) outcomes;
    register<bit<32>>(1) next_identifier;
    // By key: the identifier of the packet whose pieces are kept there.
    register<bit<32>>(KEYS) owners;
    EACH_PIECE(KEPT)

    ComputeInIngress() compute;
    bit<9> recirculation_port_even = 0;
    bit<9> recirculation_port_odd = 0;
    bit<9> output_port = 0;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action join_unit(bit<9> recirculation_port_0, bit<9> recirculation_port_1, bit<9> out_port) {
        recirculation_port_even = recirculation_port_0;
        recirculation_port_odd = recirculation_port_1;
        output_port = out_port;
    }

    table units {
        key = {
            standard_metadata.ingress_port: exact;
        }
        actions = {
            join_unit;
            drop;
        }
        default_action = drop();
        size = 512;
    }

    action identify() {
        @atomic {
            next_identifier.read(meta.identifier, 0);
            next_identifier.write(0, meta.identifier + 1);
        }
    }

    apply {
        bool is_new = standard_metadata.instance_type != INSTANCE_RECIRCULATED;
        bool is_last = meta.passes == RECIRCULATIONS;
        if (!hdr.data.isValid() || standard_metadata.parser_error != error.NoError) {
            outcomes.count(OUTCOME_UNFIT);
            drop();
            return;
        }
        if (is_new) {
            identify();
            KEEP_DATA(meta.own)
            begin_computation(hdr.data, hdr.ipv4);
        } else {
            compute.apply(hdr.data, meta.passes);
        }
        switch (units.apply().action_run) {
            drop: {
                return;
            }
        }
        bit<32> owner = 0;
        if (is_new) {
            owners.write((bit<32>) meta.identifier[KEY_BITS - 1:0], meta.identifier);
        } else if (is_last) {
            owners.read(owner, (bit<32>) meta.identifier[KEY_BITS - 1:0]);
        }
        // The owner of the pieces is known a stage later: a packet with the pieces of another one is dropped then.
        if (is_new || is_last) {
            EACH_PIECE(PARK_OR_RETURN)
        }
        if (is_last && owner != meta.identifier) {
            outcomes.count(OUTCOME_LOST);
            drop();
            return;
        }
        if (is_last) {
            outcomes.count(OUTCOME_RETURNED);
            standard_metadata.egress_spec = output_port;
        } else {
            standard_metadata.egress_spec = meta.identifier[0:0] == 0 ? recirculation_port_even : recirculation_port_odd;
        }
    }
}

control ParkEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
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

control ParkComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control ParkDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.data);
        packet.emit(hdr.pieces);
    }
}

V1Switch(ParkParser(), ParkVerifyChecksum(), ParkIngress(), ParkEgress(), ParkComputeChecksum(), ParkDeparser()) main;
