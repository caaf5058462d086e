// Checksums with payload cover what the parser did not read, of even and odd length and of none.

#include <v1model.p4>

header udp_t {
    bit<16> source;
    bit<16> destination;
    bit<16> length;
    bit<16> checksum;
}

struct headers_t {
    udp_t input;
}

struct meta_t {}

#define VERIFY TestVerify
control TestVerify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum_with_payload(true,
            { hdr.input.source, hdr.input.destination, hdr.input.length },
            hdr.input.checksum, HashAlgorithm.csum16);
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.checksum_error == 0) {
            hdr.input.destination = hdr.input.destination + 1;
        } else {
            hdr.input.destination = 0xBAD;
        }
        standard_metadata.egress_spec = 2;
    }
}

#define COMPUTE TestCompute
control TestCompute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum_with_payload(true,
            { hdr.input.source, hdr.input.destination, hdr.input.length },
            hdr.input.checksum, HashAlgorithm.csum16);
    }
}

#include "../include/skeleton.p4"
