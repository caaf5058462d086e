// Egress sees its port, the class of service, the way and the instance of the packet.
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
        ostd.class_of_service = (ClassOfService_t) hdr.input.value;
        if (hdr.input.kind == 0) {
            send_to_port(ostd, (PortId_t) 3);
        } else {
            multicast(ostd, (MulticastGroup_t) (MulticastGroupUint_t) hdr.input.kind);
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    apply {
        hdr.input.kind = 0;
        if (istd.packet_path == PSA_PacketPath_t.NORMAL_UNICAST) {
            hdr.input.kind = 0x10;
        } else if (istd.packet_path == PSA_PacketPath_t.NORMAL_MULTICAST) {
            hdr.input.kind = 0x20;
        }
        hdr.input.kind = hdr.input.kind | (bit<8>) (PortIdUint_t) istd.egress_port;
        hdr.input.value = (bit<8>) (ClassOfServiceUint_t) istd.class_of_service
            + (bit<8>) (EgressInstanceUint_t) istd.instance;
    }
}

#define INGRESS TestIngress
#define EGRESS TestEgress
#include "../include/psa_skeleton.p4"
