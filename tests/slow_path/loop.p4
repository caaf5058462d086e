// A loop whose bounds are in the packet.

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
        for (bit<8> i in 8w0 .. hdr.input.a) { // all: begins a loop that is not unrolled
            hdr.input.result = hdr.input.result ^ i;
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../stf/include/skeleton.p4"
