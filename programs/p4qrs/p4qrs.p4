// Computes on the first 64 bytes of IP payload in RECIRCULATIONS + 1 passes, without recirculating the rest of the packet as
// often: headers recirculate through one queue, while whole packets wait in another one. See README.md.

#include <core.p4>
#include <v1model.p4>
#include "../common/rendezvous.p4"

// Rendezvous units, and, as a number of bits, packets of a unit that can be inside at a time: 2^15 registers in all.
#ifndef UNITS
#define UNITS 16
#endif
#ifndef UNIT_KEY_BITS
#define UNIT_KEY_BITS 11
#endif
#define UNIT_KEYS (1 << UNIT_KEY_BITS)

// A packet that comes round more often has lost its header.
#ifndef LIMIT
#define LIMIT (RECIRCULATIONS + 3)
#endif

// Whether packets of a flow leave in the order in which they came: 0 or 1.
#ifndef KEEP_ORDER
#define KEEP_ORDER 0
#endif
#if KEEP_ORDER
// Places for flows; those that share one keep their order together.
#ifndef FLOWS
#define FLOWS 4096
#endif
// A packet that has waited for its turn for more rounds than this leaves, and the packets before it count as lost.
#ifndef PATIENCE
#define PATIENCE (LIMIT + 6)
#endif
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
const bit<32> OUTCOME_LATE = 3;

#define PRESERVED_BY_CLONE 1

// 16 bytes after the IP header, only while a packet is in its unit.
header unit_t {
    bit<16> pkt_key;
    bit<32> pkt_id;
    bit<8> kind;
    bit<8> recir_ctr;
    bit<16> recirculation_port;
    bit<16> output_port;
    // With KEEP_ORDER: the place of the packet's flow, and its number there.
    bit<16> flow;
    bit<16> sequence;
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
    counter(4, CounterType.packets) outcomes;
    register<bit<16>>(UNITS) key_counters;
    register<bit<32>>(UNITS) id_counters;
    ComputeInIngress() compute;

    bit<16> unit;
    bit<16> key;
    bit<16> even_port;
    bit<16> odd_port;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    // The unit of an input port: its recirculation ports, and where its packets leave.
    action join_unit(bit<16> number, bit<9> recirculation_port_0, bit<9> recirculation_port_1, bit<9> output_port) {
        unit = number;
        even_port = (bit<16>) recirculation_port_0;
        odd_port = (bit<16>) recirculation_port_1;
        hdr.unit.setValid();
        hdr.unit.kind = KIND_PAYLOAD;
        hdr.unit.recir_ctr = 0;
        hdr.unit.output_port = (bit<16>) output_port;
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
        size = UNITS;
    }

    // A key counts up to UNIT_KEYS, an identifier counts how often it did, from 1 on: 0 is in registers never written.
    action identify() {
        @atomic {
            bit<32> round;
            key_counters.read(key, (bit<32>) unit);
            key_counters.write((bit<32>) unit, key == UNIT_KEYS - 1 ? 16w0 : key + 1);
            id_counters.read(round, (bit<32>) unit);
            id_counters.write((bit<32>) unit, key == UNIT_KEYS - 1 ? round + 1 : round);
            meta.pkt_id = round + 1;
        }
        meta.pkt_key = unit[15 - UNIT_KEY_BITS:0] ++ key[UNIT_KEY_BITS - 1:0];
    }

    // The packet goes on as payload; its header is cloned. Packets take the unit's two ports in turn.
    action bifurcate() {
        meta.recirculation_port = key[0:0] == 0 ? even_port : odd_port;
        hdr.unit.pkt_key = meta.pkt_key;
        hdr.unit.pkt_id = meta.pkt_id;
        hdr.unit.recirculation_port = meta.recirculation_port;
        clone_preserving_field_list(CloneType.I2E, FIRST_SESSION + (bit<32>) meta.recirculation_port, PRESERVED_BY_CLONE);
    }

    action to_recirculation_port(bit<3> queue) {
        standard_metadata.egress_spec = (bit<9>) hdr.unit.recirculation_port;
        standard_metadata.priority = queue;
    }

    action leave() {
        standard_metadata.egress_spec = (bit<9>) hdr.unit.output_port;
        hdr.unit.setInvalid();
    }

#if KEEP_ORDER
    // By flow: the number of the next packet that comes, and of the next that may leave.
    register<bit<16>>(FLOWS) next_in;
    register<bit<16>>(FLOWS) next_out;

    // Addresses, protocol, and the ports, which are the first word after the IP header.
    action take_number() {
        bit<32> flow;
        hash(flow, HashAlgorithm.crc32, 32w0, { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.data.w0 },
             (bit<32>) FLOWS);
        hdr.unit.flow = (bit<16>) flow;
        @atomic {
            bit<16> number;
            next_in.read(number, flow);
            next_in.write(flow, number + 1);
            hdr.unit.sequence = number;
        }
    }

    // How far the packet is ahead of its turn; 0 when it may leave, which moves the turn on. A packet that was given up is late:
    // the number is negative.
    action ask_for_turn(out bit<16> ahead) {
        @atomic {
            bit<16> turn;
            next_out.read(turn, (bit<32>) hdr.unit.flow);
            ahead = hdr.unit.sequence - turn;
            if (ahead[15:15] == 0 && hdr.unit.recir_ctr > PATIENCE) {
                ahead = 0;
            }
            next_out.write((bit<32>) hdr.unit.flow, ahead == 0 ? hdr.unit.sequence + 1 : turn);
        }
    }
#endif

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
#if KEEP_ORDER
                take_number();
#endif
            }
        } else {
            hdr.unit.recir_ctr = hdr.unit.recir_ctr + 1;
            if (hdr.unit.kind == KIND_HEADER) {
                compute.apply(hdr.data, hdr.unit.recir_ctr);
                to_recirculation_port(HEADER_QUEUE);
            } else if (hdr.unit.kind == KIND_MERGED) {
#if KEEP_ORDER
                bit<16> ahead;
                ask_for_turn(ahead);
                if (ahead == 0) {
                    outcomes.count(OUTCOME_MERGED);
                    leave();
                } else if (ahead[15:15] == 1) {
                    outcomes.count(OUTCOME_LATE);
                    drop();
                } else {
                    to_recirculation_port(PAYLOAD_QUEUE);
                }
#else
                outcomes.count(OUTCOME_MERGED);
                leave();
#endif
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
    ComputeInEgress() compute;

    // By key: for which packet the computation is complete, 0 when its payload has come, and what was computed.
    register<bit<32>>(UNITS * UNIT_KEYS) ready;
#define COMPUTED(i) register<bit<32>>(UNITS * UNIT_KEYS) computed##i; bit<32> word##i;
    EACH_WORD(COMPUTED)

    // A clone begins as a header.
    action become_header() {
        hdr.unit.setValid();
        hdr.unit.pkt_key = meta.pkt_key;
        hdr.unit.pkt_id = meta.pkt_id;
        hdr.unit.kind = KIND_HEADER;
        hdr.unit.recir_ctr = 0;
        hdr.unit.recirculation_port = meta.recirculation_port;
        hdr.unit.output_port = 0;
        hdr.unit.flow = 0;
        hdr.unit.sequence = 0;
        begin_computation(hdr.data, hdr.ipv4);
    }

#define LEAVE(i) computed##i.write((bit<32>) hdr.unit.pkt_key, hdr.data.w##i);
#define TAKE(i) computed##i.read(word##i, (bit<32>) hdr.unit.pkt_key);
#define FINISH_WORD(i) FINISH(i, word##i, hdr.ipv4)
#define COMBINE_WORD(i) hdr.data.w##i = COMBINED(hdr.data.w##i, word##i);

    // Stores what was computed, and drops the header.
    action deposit() {
        EACH_WORD(LEAVE)
        mark_to_drop(standard_metadata);
    }

    action merge() {
        hdr.unit.kind = KIND_MERGED;
        EACH_WORD(TAKE)
        EACH_WORD(FINISH_WORD)
        EACH_WORD(COMBINE_WORD)
    }

    apply {
        if (standard_metadata.instance_type == INSTANCE_INGRESS_CLONE) {
            become_header();
            recirculate_preserving_field_list(0);
        } else if (hdr.unit.isValid()) {
            bool deposits = hdr.unit.kind == KIND_HEADER && hdr.unit.recir_ctr == RECIRCULATIONS;
            bit<32> identifier;
            if (hdr.unit.kind == KIND_HEADER) {
                compute.apply(hdr.data);
            }
            // The result of a computation is taken once: a payload that comes twice is merged once.
            @atomic {
                ready.read(identifier, (bit<32>) hdr.unit.pkt_key);
                if (deposits) {
                    ready.write((bit<32>) hdr.unit.pkt_key, hdr.unit.pkt_id);
                } else if (hdr.unit.kind == KIND_PAYLOAD && identifier == hdr.unit.pkt_id) {
                    ready.write((bit<32>) hdr.unit.pkt_key, 0);
                }
            }
            if (deposits) {
                deposit();
            } else {
                if (hdr.unit.kind == KIND_PAYLOAD && identifier == hdr.unit.pkt_id) {
                    merge();
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
