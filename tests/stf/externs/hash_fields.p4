// A hash over several fields is a hash over their bits one after the other, with zeros up to a whole byte.

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
        hash(hdr.input.result, HashAlgorithm.crc32, 32w0,
                { hdr.input.data[67:64], hdr.input.data[39:0], hdr.input.data[7:0] }, 33w0x1_0000_0000);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
