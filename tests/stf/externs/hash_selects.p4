// A hash spreads flows over four ports; packets of one flow take one port.

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
        bit<2> choice;
        hash(choice, HashAlgorithm.crc16, 2w0, { hdr.input.data[71:40] }, 3w4);
        standard_metadata.egress_spec = 1 + (bit<9>)choice;
    }
}

#include "../include/skeleton.p4"
