// Chains of network functions in the pipelines of a switch. Tables say where each function is, and by which ports packets go between
// the pipelines. See README.md; `forebay allocate` writes their entries.

#include <core.p4>
#include <v1model.p4>
#include "../common/headers.p4"

const bit<32> INSTANCE_RECIRCULATED = 4;

// After IPv4, only while a packet is inside: its flow, and how often it has come back.
header chain_t {
    bit<16> flow;
    bit<8> hop;
    // Whether it comes back once more.
    bit<8> comes_back;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    chain_t chain;
}

struct metadata_t {
}

parser ChainParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
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
            (INSTANCE_RECIRCULATED, _, _): parse_chain;
            default: accept;
        }
    }

    state parse_chain {
        packet.extract(hdr.chain);
        transition accept;
    }
}

control ChainVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

// Up to four functions, each an entry of a table.
#define STEP(half, number)                                \
    table half##_step_##number {                          \
        key = {                                           \
            hdr.chain.flow: exact;                        \
            hdr.chain.hop: exact;                         \
        }                                                 \
        actions = {                                       \
            set_tos;                                      \
            decrement_ttl;                                \
            translate_source;                             \
            translate_destination;                        \
            count;                                        \
            drop;                                         \
            NoAction;                                     \
        }                                                 \
        const default_action = NoAction();                \
        size = 256;                                       \
    }

#define FUNCTIONS                                         \
    action drop() {                                       \
        mark_to_drop(standard_metadata);                  \
    }                                                     \
    action set_tos(bit<8> tos) {                          \
        hdr.ipv4.tos = tos;                               \
    }                                                     \
    action decrement_ttl() {                              \
        hdr.ipv4.ttl = hdr.ipv4.ttl |-| 1;                \
    }                                                     \
    action translate_source(bit<32> address) {            \
        hdr.ipv4.src_addr = address;                      \
    }                                                     \
    action translate_destination(bit<32> address) {       \
        hdr.ipv4.dst_addr = address;                      \
    }                                                     \
    action count(bit<8> index) {                          \
        counted.count((bit<32>) index);                   \
    }

#define STEPS(half) STEP(half, 0) STEP(half, 1) STEP(half, 2) STEP(half, 3)
#define TAKE_STEPS(half)                                                                               \
    half##_step_0.apply(); half##_step_1.apply(); half##_step_2.apply(); half##_step_3.apply();

control ChainIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(256, CounterType.packets_and_bytes) counted;
    FUNCTIONS
    STEPS(ingress)

    action begin(bit<16> flow) {
        hdr.chain.setValid();
        hdr.chain.flow = flow;
        hdr.chain.hop = 0;
        hdr.chain.comes_back = 0;
    }

    table flows {
        key = {
            standard_metadata.ingress_port: exact;
        }
        actions = {
            begin;
            drop;
        }
        default_action = drop();
        size = 256;
    }

    action leave_by(bit<9> port) {
        standard_metadata.egress_spec = port;
        hdr.chain.comes_back = 0;
    }

    action come_back_by(bit<9> port) {
        standard_metadata.egress_spec = port;
        hdr.chain.comes_back = 1;
    }

    table routes {
        key = {
            hdr.chain.flow: exact;
            hdr.chain.hop: exact;
        }
        actions = {
            leave_by;
            come_back_by;
            drop;
        }
        default_action = drop();
        size = 256;
    }

    apply {
        if (!hdr.ipv4.isValid() || hdr.ipv4.ihl != 5 || standard_metadata.parser_error != error.NoError
            || standard_metadata.checksum_error == 1) {
            drop();
            return;
        }
        if (!hdr.chain.isValid() && flows.apply().miss) {
            return;
        }
        if (routes.apply().miss) {
            return;
        }
        TAKE_STEPS(ingress)
    }
}

control ChainEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(256, CounterType.packets_and_bytes) counted;
    FUNCTIONS
    STEPS(egress)

    apply {
        TAKE_STEPS(egress)
        if (hdr.chain.comes_back == 1) {
            hdr.chain.hop = hdr.chain.hop + 1;
            recirculate_preserving_field_list(0);
        } else {
            hdr.chain.setInvalid();
        }
    }
}

control ChainComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control ChainDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.chain);
    }
}

V1Switch(ChainParser(), ChainVerifyChecksum(), ChainIngress(), ChainEgress(), ChainComputeChecksum(), ChainDeparser()) main;
