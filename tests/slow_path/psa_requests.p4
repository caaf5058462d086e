// Packets that leave specialised code of a PSA program after ingress: resubmitted ones, and cloned ones where clones find the state of other
// packets after the queue.
#include <core.p4>
#include <psa.p4>

header byte_t {
    bit<8> value;
}

struct headers_t {
    byte_t input;
}

struct meta_t {
    bit<8> mark;
}

control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    Register<bit<8>, bit<8>>(1, 0) passes;

    apply {
        passes.write(0, hdr.input.value);
        send_to_port(ostd, (PortId_t) 2);
        if (hdr.input.value == 1) {
            ostd.clone = true; // some: clones the packet, which then takes the slow path
        }
        if (hdr.input.value == 2 && istd.packet_path != PSA_PacketPath_t.RESUBMIT) {
            ostd.resubmit = true; // some: resubmits the packet, which then takes the slow path
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    Register<bit<8>, bit<8>>(1, 0) left;

    apply {
        left.write(0, hdr.input.value);
    }
}

#define INGRESS TestIngress
#define EGRESS TestEgress
#include "../stf/include/psa_skeleton.p4"
