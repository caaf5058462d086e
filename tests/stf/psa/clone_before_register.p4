// A packet that asks for a clone before it writes a register is processed once.
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
    Register<bit<8>, bit<8>>(1, 0) passes;

    apply {
        send_to_port(ostd, (PortId_t) 2);
        ostd.clone = true;
        ostd.clone_session_id = (CloneSessionId_t) 8;
        bit<8> before = passes.read(0);
        passes.write(0, before + 1);
        hdr.input.value = before;
    }
}

#define INGRESS TestIngress
#include "../include/psa_skeleton.p4"
