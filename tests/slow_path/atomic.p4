// A table that is applied in an atomic section is on the fast path.

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
    register<bit<8>>(16) state;

    action keep(bit<8> value) {
        hdr.input.result = value;
    }

    table values {
        key = { hdr.input.b : exact; }
        actions = { keep; NoAction; }
        default_action = NoAction();
    }

    apply {
        @atomic {
            state.read(hdr.input.result, (bit<32>)hdr.input.a);
            values.apply();
            state.write((bit<32>)hdr.input.a, hdr.input.result);
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../stf/include/skeleton.p4"
