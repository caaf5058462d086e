// PSA_PORT_CPU is a port: packets come from it and leave by it, also by multicast and by the session that there is at the start.
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
        if (istd.ingress_port == PSA_PORT_CPU) {
            hdr.input.value = 0xcc;
            send_to_port(ostd, (PortId_t) 2);
        } else if (hdr.input.kind == 0) {
            send_to_port(ostd, PSA_PORT_CPU);
        } else if (hdr.input.kind == 1) {
            multicast(ostd, (MulticastGroup_t) 7);
        } else {
            send_to_port(ostd, (PortId_t) 2);
            ostd.clone = true;
            ostd.clone_session_id = PSA_CLONE_SESSION_TO_CPU;
        }
    }
}

#define INGRESS TestIngress
#include "../include/psa_skeleton.p4"
