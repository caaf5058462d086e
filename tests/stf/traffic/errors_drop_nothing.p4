// A parser error and a wrong checksum drop nothing: ingress reads them, and decides.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define VERIFY TestVerify
control TestVerify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.input.isValid(), { hdr.input.a, hdr.input.b }, hdr.input.c, HashAlgorithm.identity);
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
        if (standard_metadata.parser_error != error.NoError) {
            hdr.input.setValid();
            hdr.input.a = 0;
            hdr.input.b = 0;
            hdr.input.c = 0;
            truncate(3);
        } else if (standard_metadata.checksum_error == 1) {
            hdr.input.c = 1;
        }
    }
}

#include "../include/skeleton.p4"
