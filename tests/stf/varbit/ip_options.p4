// IPv4 options of every length up to the longest are kept when fixed fields change.

#include <v1model.p4>

header input_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> ttl;
    varbit<320> options;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        bit<4> ihl = packet.lookahead<bit<8>>()[3:0];
        verify(ihl >= 5, error.HeaderTooShort);
        packet.extract(hdr.input, ((bit<32>)ihl - 5) * 32);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.ttl = hdr.input.ttl |-| 1;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
