// A packet that ingress sends nowhere is dropped.
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
        if (hdr.input.kind == 1) {
            send_to_port(ostd, (PortId_t) 2);
        } else if (hdr.input.kind == 2) {
            send_to_port(ostd, (PortId_t) 2);
            ingress_drop(ostd);
        }
    }
}

#define INGRESS TestIngress
#include "../include/psa_skeleton.p4"
