// hdr.stack.last is the element extracted last: MPLS labels up to the bottom of the stack.

#include <v1model.p4>

header label_t {
    bit<20> label;
    bit<3> traffic_class;
    bit<1> bottom;
    bit<8> ttl;
}

header input_t {
    bit<16> after;
}

struct headers_t {
    label_t[3] labels;
    input_t input;
}

struct meta_t {
    bit<8> depth;
}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.labels.next);
        meta.depth = meta.depth + hdr.labels.last.ttl;
        transition select(hdr.labels.last.bottom) {
            0: start;
            1: after;
        }
    }

    state after {
        packet.extract(hdr.input);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.input.isValid()) {
            hdr.input.after = 8w0 ++ meta.depth;
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
