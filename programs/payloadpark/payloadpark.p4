// Computes on the first 64 bytes of IP payload in RECIRCULATIONS + 1 passes. Up to 160 bytes behind them are kept in registers
// meanwhile, so that shorter packets are recirculated. See README.md.

#include <core.p4>
#include <v1model.p4>
#include "../common/rendezvous.p4"

// Packets that can have bytes in the registers at a time. With more inside, the oldest lose theirs, and are dropped.
#ifndef KEYS
#define KEYS 32768
#endif

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
    // Where the packet's pieces are, how many, and by what the registers know that they are its own.
    @field_list(PRESERVED_BY_RECIRCULATION)
    bit<32> key;
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

// A piece of every parked packet: keeps it when the packet comes, gives it back when it leaves.
control Place(inout piece_t piece, in metadata_t meta, in bool returns)(bit<8> number) {
    register<bit<128>>(KEYS) kept;

    apply {
        if (number < meta.parked) {
            if (returns) {
                piece.setValid();
                kept.read(piece.bytes, meta.key);
            } else {
                kept.write(meta.key, piece.bytes);
                piece.setInvalid();
            }
        }
    }
}

control ParkIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(3, CounterType.packets) outcomes;
    register<bit<32>>(1) next_identifier;
    // By key: whose pieces are there. Identifiers begin with 1.
    register<bit<32>>(KEYS) owners;
    Place(0) place0;
    Place(1) place1;
    Place(2) place2;
    Place(3) place3;
    Place(4) place4;
    Place(5) place5;
    Place(6) place6;
    Place(7) place7;
    Place(8) place8;
    Place(9) place9;

    bit<9> recirculation_port = 0;
    bit<9> output_port = 0;
    bool stays = true;

    action drop() {
        mark_to_drop(standard_metadata);
        stays = false;
    }

    action join_unit(bit<9> recirculation_port_0, bit<9> recirculation_port_1, bit<9> out_port) {
        recirculation_port = meta.identifier & 1 == 0 ? recirculation_port_0 : recirculation_port_1;
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
            bit<32> identifier;
            next_identifier.read(identifier, 0);
            identifier = identifier + 1;
            next_identifier.write(0, identifier);
            meta.identifier = identifier;
        }
        meta.key = meta.identifier % KEYS;
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
        }
        units.apply();
        if (!stays) {
            return;
        }
        if (is_new) {
            owners.write(meta.key, meta.identifier);
        } else if (is_last) {
            bit<32> owner;
            owners.read(owner, meta.key);
            if (owner != meta.identifier) {
                outcomes.count(OUTCOME_LOST);
                drop();
                return;
            }
            outcomes.count(OUTCOME_RETURNED);
        }
        if (is_new || is_last) {
            place0.apply(hdr.pieces[0], meta, is_last);
            place1.apply(hdr.pieces[1], meta, is_last);
            place2.apply(hdr.pieces[2], meta, is_last);
            place3.apply(hdr.pieces[3], meta, is_last);
            place4.apply(hdr.pieces[4], meta, is_last);
            place5.apply(hdr.pieces[5], meta, is_last);
            place6.apply(hdr.pieces[6], meta, is_last);
            place7.apply(hdr.pieces[7], meta, is_last);
            place8.apply(hdr.pieces[8], meta, is_last);
            place9.apply(hdr.pieces[9], meta, is_last);
        }
        if (is_last) {
            standard_metadata.egress_spec = output_port;
        } else {
            compute(hdr.data, meta.passes + 1);
            if (meta.passes + 1 == RECIRCULATIONS) {
                end_computation(hdr.data, hdr.ipv4);
                COMBINE_DATA(meta.own)
            }
            standard_metadata.egress_spec = recirculation_port;
        }
    }
}

control ParkEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.passes < RECIRCULATIONS) {
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
