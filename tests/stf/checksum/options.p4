// The checksum of an IPv4 header with options covers the varbit.

#include <v1model.p4>

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> diffserv;
    bit<16> total_length;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
    varbit<320> options;
}

struct headers_t {
    ipv4_t input;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        bit<4> ihl = packet.lookahead<bit<8>>()[3:0];
        packet.extract(hdr.input, ((bit<32>)ihl - 5) << 5);
        transition accept;
    }
}

#define VERIFY TestVerify
control TestVerify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(true,
            { hdr.input.version, hdr.input.ihl, hdr.input.diffserv, hdr.input.total_length, hdr.input.identification,
              hdr.input.flags, hdr.input.fragment_offset, hdr.input.ttl, hdr.input.protocol, hdr.input.source,
              hdr.input.destination, hdr.input.options },
            hdr.input.checksum, HashAlgorithm.csum16);
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.checksum_error == 0) {
            hdr.input.ttl = hdr.input.ttl - 1;
        }
        standard_metadata.egress_spec = 2;
    }
}

#define COMPUTE TestCompute
control TestCompute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(true,
            { hdr.input.version, hdr.input.ihl, hdr.input.diffserv, hdr.input.total_length, hdr.input.identification,
              hdr.input.flags, hdr.input.fragment_offset, hdr.input.ttl, hdr.input.protocol, hdr.input.source,
              hdr.input.destination, hdr.input.options },
            hdr.input.checksum, HashAlgorithm.csum16);
    }
}

#include "../include/skeleton.p4"
