// Two checksums over parts of one header; either one that is wrong sets checksum_error.

#include <v1model.p4>

header input_t {
    bit<16> first;
    bit<16> first_sum;
    bit<32> second;
    bit<16> second_sum;
    bit<8> wrong;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define VERIFY TestVerify
control TestVerify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(true, { hdr.input.first }, hdr.input.first_sum, HashAlgorithm.csum16);
        verify_checksum(true, { hdr.input.second }, hdr.input.second_sum, HashAlgorithm.csum16);
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.wrong = (bit<8>)standard_metadata.checksum_error;
        hdr.input.first = hdr.input.first + 1;
        standard_metadata.egress_spec = 2;
    }
}

// The second sum is over a field that the first one wrote.
#define COMPUTE TestCompute
control TestCompute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(true, { hdr.input.first }, hdr.input.first_sum, HashAlgorithm.csum16);
        update_checksum(true, { hdr.input.first_sum, hdr.input.second }, hdr.input.second_sum, HashAlgorithm.csum16);
    }
}

#include "../include/skeleton.p4"
