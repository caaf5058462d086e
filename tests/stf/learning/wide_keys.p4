// A key of several wide fields, and data of several parameters.
#include <v1model.p4>
#include <forebay.p4>

header input_t {
    bit<128> a;
    bit<48> b;
    bit<4> c;
    bit<4> d;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action known(bit<9> port, bit<48> address, bit<4> nibble) {
        standard_metadata.egress_spec = port;
        hdr.input.b = address;
        hdr.input.d = nibble;
    }

    action learn() {
        add_entry("known", { standard_metadata.ingress_port, hdr.input.b + 1, hdr.input.d }, 8w0);
        standard_metadata.egress_spec = 2;
    }

    table flows {
        key = {
            hdr.input.a: exact;
            hdr.input.b: exact;
            hdr.input.c: exact;
        }
        actions = {
            known;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
    }

    apply {
        flows.apply();
    }
}

#define INGRESS TestIngress
#include "../include/skeleton.p4"
