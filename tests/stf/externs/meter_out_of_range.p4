// execute_meter outside the array leaves the result as it was, and so does update_checksum whose condition does not hold.

#include <v1model.p4>

header input_t {
    bit<32> index;
    bit<32> color;
    bit<16> sum;
    bit<16> copy;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    meter(4, MeterType.packets) limit;

    apply {
        bit<32> color = 0xC0FFEE;
        limit.execute_meter(hdr.input.index, color);
        hdr.input.color = color;
        standard_metadata.egress_spec = 2;
    }
}

#define COMPUTE TestComputeChecksum
control TestComputeChecksum(inout headers_t hdr, inout meta_t meta) {
    apply {
        bit<16> sum = 0x1234;
        update_checksum(hdr.input.index == 4, { hdr.input.index }, sum, HashAlgorithm.csum16);
        update_checksum(true, { sum }, hdr.input.copy, HashAlgorithm.csum16);
        update_checksum(hdr.input.index > 3, { 16w1 }, hdr.input.sum, HashAlgorithm.csum16);
        update_checksum(hdr.input.index > 4, { 16w2 }, hdr.input.sum, HashAlgorithm.csum16);
    }
}

#include "../include/skeleton.p4"
