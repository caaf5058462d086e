// A member of a multicast group may be the recirculation port: that copy begins again.
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

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    apply {
        if (istd.ingress_port == PSA_PORT_RECIRCULATE) {
            hdr.input.value = 0xee;
            send_to_port(ostd, (PortId_t) 3);
        } else {
            multicast(ostd, (MulticastGroup_t) (MulticastGroupUint_t) (bit<32>) hdr.input.kind);
        }
    }
}

#include "../include/psa_skeleton.p4"
