// Tables of egress match on what the traffic manager set.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> result;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = (bit<9>)hdr.input.b;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action mark(bit<8> value) {
        hdr.input.result = value;
    }

    table ports {
        key = {
            standard_metadata.egress_port: exact;
        }
        actions = {
            mark;
        }
        default_action = mark(0xFF);
    }

    apply {
        ports.apply();
    }
}

#include "../include/skeleton.p4"
