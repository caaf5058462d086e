// Egress reads the class of service with which a packet was queued: 0 for a class that there is not (PSA 6.2).
#include <psa.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    apply {
        ostd.class_of_service = (ClassOfService_t) hdr.input.kind;
        send_to_port(ostd, (PortId_t) 2);
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    apply {
        hdr.input.value = (ClassOfServiceUint_t) istd.class_of_service;
    }
}

#define INGRESS TestIngress
#define EGRESS TestEgress
#include "../include/psa_skeleton.p4"
