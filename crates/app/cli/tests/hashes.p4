// Hashes whose parameters a file of commands sets: the CRCs of the source address stand behind the Ethernet header.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> kind;
}

header hashes_t {
    bit<32> plain;
    bit<32> other;
    bit<16> narrow;
}

struct headers_t {
    ethernet_t ethernet;
    hashes_t hashes;
}

struct metadata_t {}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.hashes);
        transition accept;
    }
}

control V(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        hash(hdr.hashes.plain, HashAlgorithm.crc32_custom, 32w0, { hdr.ethernet.source }, 33w0x100000000);
        hash(hdr.hashes.other, HashAlgorithm.crc32_custom, 32w0, { hdr.ethernet.source }, 33w0x100000000);
        hash(hdr.hashes.narrow, HashAlgorithm.crc16_custom, 16w0, { hdr.ethernet.source }, 32w0x10000);
        standard.egress_spec = 2;
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.hashes);
    }
}

V1Switch(P(), V(), I(), E(), V(), D()) main;
