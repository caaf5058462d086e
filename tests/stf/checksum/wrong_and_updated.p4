// A packet with a wrong checksum goes on, told apart, and gets a right one for what has been changed.

#include <v1model.p4>

header input_t {
    bit<8> kind;
    bit<8> ttl;
    bit<32> one;
    bit<32> other;
    bit<16> sum;
    bit<16> second_sum;
    bit<8> mark;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define VERIFY TestVerify
control TestVerify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.input.kind == 2, { hdr.input.one, hdr.input.other, hdr.input.kind, hdr.input.ttl },
                        hdr.input.second_sum, HashAlgorithm.csum16);
        verify_checksum(hdr.input.kind != 0, { hdr.input.one, hdr.input.other, hdr.input.kind, hdr.input.ttl },
                        hdr.input.sum, HashAlgorithm.csum16);
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
        if (standard_metadata.checksum_error == 1 || hdr.input.ttl <= 1) {
            hdr.input.mark = 0xee;
        } else {
            hdr.input.mark = 0x11;
        }
        hdr.input.ttl = hdr.input.ttl - 1;
    }
}

#define COMPUTE TestCompute
control TestCompute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(true, { hdr.input.one, hdr.input.other, hdr.input.kind, hdr.input.ttl },
                        hdr.input.sum, HashAlgorithm.csum16);
    }
}

#include "../include/skeleton.p4"
