// csum16 is the Internet checksum; an odd last byte is followed by a zero byte.

#include <v1model.p4>

header input_t {
    bit<72> data;
    bit<32> result;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hash(hdr.input.result, HashAlgorithm.csum16, 32w0, { hdr.input.data }, 33w0x1_0000_0000);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
