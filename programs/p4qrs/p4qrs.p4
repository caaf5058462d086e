// Computes on the first 64 bytes of IP payload in RECIRCULATIONS + 1 passes, without recirculating the rest of the packet as
// often: headers run ahead through one queue, whole packets wait in another one. See README.md.

#include <core.p4>
#include <v1model.p4>
#include "../common/rendezvous.p4"

// Rendezvous units, and packets of a unit that can be inside at a time: 2^15 registers in all.
#ifndef UNITS
#define UNITS 16
#endif
#ifndef UNIT_KEYS
#define UNIT_KEYS 2048
#endif

// A packet that comes round more often has lost its header.
#ifndef LIMIT
#define LIMIT (RECIRCULATIONS + 3)
#endif

// The clone session that leads to recirculation port p is FIRST_SESSION + p; it cuts to HEADER_BYTES.
#define FIRST_SESSION 1000

const bit<3> HEADER_QUEUE = 0;
const bit<3> PAYLOAD_QUEUE = 1;

const bit<8> KIND_HEADER = 1;
const bit<8> KIND_PAYLOAD = 2;
const bit<8> KIND_MERGED = 3;

// Why packets end, by index of the counter `outcomes`.
const bit<32> OUTCOME_MERGED = 0;
const bit<32> OUTCOME_EXPIRED = 1;
const bit<32> OUTCOME_UNFIT = 2;

#define PRESERVED_BY_CLONE 1

// 16 bytes behind the IP header, only while a packet is in its unit.
header unit_t {
    bit<16> pkt_key;
    bit<32> pkt_id;
    bit<8> kind;
    bit<8> recir_ctr;
    bit<16> recirculation_port;
    bit<16> output_port;
    bit<32> reserved;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    unit_t unit;
    data_t data;
}

struct metadata_t {
    @field_list(PRESERVED_BY_CLONE)
    bit<16> pkt_key;
    @field_list(PRESERVED_BY_CLONE)
    bit<32> pkt_id;
    @field_list(PRESERVED_BY_CLONE)
    bit<16> recirculation_port;
}

parser UnitParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
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
        transition select(standard_metadata.instance_type, hdr.ipv4.version, hdr.ipv4.ihl) {
            (INSTANCE_RECIRCULATED, _, _): parse_unit;
            (_, 4, 5): parse_data;
            default: accept;
        }
    }

    state parse_unit {
        packet.extract(hdr.unit);
        transition parse_data;
    }

    state parse_data {
        packet.extract(hdr.data);
        transition accept;
    }
}

control UnitVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control UnitIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(3, CounterType.packets) outcomes;
    register<bit<16>>(UNITS) key_counters;
    register<bit<32>>(UNITS) id_counters;

    bit<16> unit = 0;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    // The unit of an input port: its recirculation ports, and where its packets leave.
    action join_unit(bit<16> number, bit<9> recirculation_port_0, bit<9> recirculation_port_1, bit<9> output_port) {
        unit = number;
        hdr.unit.setValid();
        hdr.unit.recirculation_port = (bit<16>) recirculation_port_0;
        hdr.unit.reserved = (bit<32>) recirculation_port_1;
        hdr.unit.output_port = (bit<16>) output_port;
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
        size = UNITS;
    }

    // A key counts up to UNIT_KEYS, an identifier counts how often it did, from 1 on: 0 is in registers never written.
    action identify() {
        @atomic {
            bit<16> key;
            bit<32> round;
            key_counters.read(key, (bit<32>) unit);
            id_counters.read(round, (bit<32>) unit);
            hdr.unit.pkt_key = unit * UNIT_KEYS + key;
            hdr.unit.pkt_id = round + 1;
            key = key + 1;
            if (key == UNIT_KEYS) {
                key = 0;
                round = round + 1;
            }
            key_counters.write((bit<32>) unit, key);
            id_counters.write((bit<32>) unit, round);
        }
    }

    // The packet goes on as payload; its header is cloned. Packets take the unit's two ports in turn.
    action bifurcate() {
        if (hdr.unit.pkt_key & 1 == 1) {
            hdr.unit.recirculation_port = (bit<16>) hdr.unit.reserved;
        }
        hdr.unit.reserved = 0;
        hdr.unit.kind = KIND_PAYLOAD;
        hdr.unit.recir_ctr = 0;
        meta.pkt_key = hdr.unit.pkt_key;
        meta.pkt_id = hdr.unit.pkt_id;
        meta.recirculation_port = hdr.unit.recirculation_port;
        clone_preserving_field_list(CloneType.I2E, FIRST_SESSION + (bit<32>) hdr.unit.recirculation_port,
                                    PRESERVED_BY_CLONE);
    }

    action to_recirculation_port(bit<3> queue) {
        standard_metadata.egress_spec = (bit<9>) hdr.unit.recirculation_port;
        standard_metadata.priority = queue;
    }

    action leave() {
        standard_metadata.egress_spec = (bit<9>) hdr.unit.output_port;
        hdr.unit.setInvalid();
    }

    apply {
        if (!hdr.data.isValid() || standard_metadata.parser_error != error.NoError) {
            // No IPv4, or less than 64 bytes of payload.
            outcomes.count(OUTCOME_UNFIT);
            drop();
        } else if (!hdr.unit.isValid()) {
            if (units.apply().hit) {
                identify();
                bifurcate();
                to_recirculation_port(PAYLOAD_QUEUE);
            }
        } else {
            hdr.unit.recir_ctr = hdr.unit.recir_ctr + 1;
            if (hdr.unit.kind == KIND_HEADER) {
                if (hdr.unit.recir_ctr == 1) {
                    begin_computation(hdr.data, hdr.ipv4);
                }
                compute(hdr.data, hdr.unit.recir_ctr);
                if (hdr.unit.recir_ctr == RECIRCULATIONS) {
                    end_computation(hdr.data, hdr.ipv4);
                }
                to_recirculation_port(HEADER_QUEUE);
            } else if (hdr.unit.kind == KIND_MERGED) {
                outcomes.count(OUTCOME_MERGED);
                leave();
            } else if (hdr.unit.recir_ctr > LIMIT) {
                outcomes.count(OUTCOME_EXPIRED);
                drop();
            } else {
                to_recirculation_port(PAYLOAD_QUEUE);
            }
        }
    }
}

control UnitEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // By key: for which packet the computation is complete, and what was computed.
    register<bit<32>>(UNITS * UNIT_KEYS) ready;
    register<bit<32>>(UNITS * UNIT_KEYS) computed0;
    register<bit<32>>(UNITS * UNIT_KEYS) computed1;
    register<bit<32>>(UNITS * UNIT_KEYS) computed2;
    register<bit<32>>(UNITS * UNIT_KEYS) computed3;
    register<bit<32>>(UNITS * UNIT_KEYS) computed4;
    register<bit<32>>(UNITS * UNIT_KEYS) computed5;
    register<bit<32>>(UNITS * UNIT_KEYS) computed6;
    register<bit<32>>(UNITS * UNIT_KEYS) computed7;
    register<bit<32>>(UNITS * UNIT_KEYS) computed8;
    register<bit<32>>(UNITS * UNIT_KEYS) computed9;
    register<bit<32>>(UNITS * UNIT_KEYS) computed10;
    register<bit<32>>(UNITS * UNIT_KEYS) computed11;
    register<bit<32>>(UNITS * UNIT_KEYS) computed12;
    register<bit<32>>(UNITS * UNIT_KEYS) computed13;
    register<bit<32>>(UNITS * UNIT_KEYS) computed14;
    register<bit<32>>(UNITS * UNIT_KEYS) computed15;

    // A clone begins as a header.
    action become_header() {
        hdr.unit.setValid();
        hdr.unit.pkt_key = meta.pkt_key;
        hdr.unit.pkt_id = meta.pkt_id;
        hdr.unit.kind = KIND_HEADER;
        hdr.unit.recir_ctr = 0;
        hdr.unit.recirculation_port = meta.recirculation_port;
        hdr.unit.output_port = 0;
        hdr.unit.reserved = 0;
    }

#define LEAVE(i) computed##i.write(key, hdr.data.w##i);
#define TAKE(i) computed##i.read(word, key); combine(hdr.data.w##i, word);
#define ALL(each) each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7) \
    each(8) each(9) each(10) each(11) each(12) each(13) each(14) each(15)

    // The header leaves what was computed, and ends.
    action deposit() {
        bit<32> key = (bit<32>) hdr.unit.pkt_key;
        ready.write(key, hdr.unit.pkt_id);
        ALL(LEAVE)
        mark_to_drop(standard_metadata);
    }

    action merge() {
        bit<32> key = (bit<32>) hdr.unit.pkt_key;
        bit<32> word;
        hdr.unit.kind = KIND_MERGED;
        ALL(TAKE)
    }

    apply {
        if (standard_metadata.instance_type == INSTANCE_INGRESS_CLONE) {
            become_header();
        }
        if (hdr.unit.isValid()) {
            if (hdr.unit.kind == KIND_HEADER && hdr.unit.recir_ctr == RECIRCULATIONS) {
                deposit();
            } else {
                if (hdr.unit.kind == KIND_PAYLOAD) {
                    bit<32> identifier;
                    ready.read(identifier, (bit<32>) hdr.unit.pkt_key);
                    if (identifier == hdr.unit.pkt_id) {
                        merge();
                    }
                }
                recirculate_preserving_field_list(0);
            }
        }
    }
}

control UnitComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control UnitDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.unit);
        packet.emit(hdr.data);
    }
}

V1Switch(UnitParser(), UnitVerifyChecksum(), UnitIngress(), UnitEgress(), UnitComputeChecksum(), UnitDeparser()) main;
