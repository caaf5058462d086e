// A PSA program that clones packets too: those that recirculate with metadata leave specialised code, on the line that chooses the port.
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

#define NO_METADATA
struct none_t {}

struct again_t {
    bit<8> round;
}

control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    apply {
        send_to_port(ostd, (PortId_t) 2);
        if (hdr.input.value == 1) {
            ostd.clone = true;
        }
        if (istd.packet_path == PSA_PacketPath_t.NORMAL) {
            send_to_port(ostd, PSA_PORT_RECIRCULATE); // some: recirculates the packet, which then takes the slow path
        }
    }
}

control TestDeparser(packet_out packet, out none_t clone_e2e_meta, out again_t recirculate_meta, inout headers_t hdr,
                     in meta_t meta, in psa_egress_output_metadata_t istd,
                     in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        recirculate_meta.round = 1;
        packet.emit(hdr);
    }
}

#define RECIRCULATE again_t
#define INGRESS TestIngress
#define EGRESS_DEPARSER TestDeparser
#include "../stf/include/psa_skeleton.p4"
