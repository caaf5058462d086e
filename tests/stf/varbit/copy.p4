// A varbit takes the length of what is assigned to it; headers with one are copied and compared with their length.

#include <v1model.p4>

header input_t {
    bit<8> length;
    varbit<64> data;
}

header flags_t {
    bool equal;
    bool field_equal;
    bool after;
    bit<5> pad;
}

struct headers_t {
    input_t input;
    input_t second;
    input_t third;
    flags_t flags;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input, (bit<32>)packet.lookahead<bit<8>>() << 3);
        packet.extract(hdr.second, (bit<32>)packet.lookahead<bit<8>>() << 3);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.flags.setValid();
        hdr.flags.equal = hdr.input == hdr.second;
        hdr.flags.field_equal = hdr.input.data == hdr.second.data;
        hdr.third = hdr.second;
        hdr.second.data = hdr.input.data;
        hdr.flags.after = hdr.third == hdr.second;
        hdr.flags.pad = 0;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
