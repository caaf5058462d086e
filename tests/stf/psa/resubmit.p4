// A resubmitted packet begins again with the frame that arrived, and with what the deparser gave it.
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

#ifndef NO_METADATA
#define NO_METADATA
struct none_t {}
#endif

struct again_t {
    bit<8> round;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t istd,
                  in again_t resubmit_meta, in none_t recirculate_meta) {
    state start {
        meta.mark = 0;
        packet.extract(hdr.input);
        transition select(istd.packet_path) {
            PSA_PacketPath_t.RESUBMIT: again;
            default: accept;
        }
    }

    state again {
        meta.mark = resubmit_meta.round;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    apply {
        send_to_port(ostd, (PortId_t) 2);
        ostd.resubmit = meta.mark < hdr.input.kind;
        hdr.input.value = hdr.input.value + meta.mark;
    }
}

control TestDeparser(packet_out packet, out none_t clone_i2e_meta, out again_t resubmit_meta, out none_t normal_meta,
                     inout headers_t hdr, in meta_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        if (psa_resubmit(istd)) {
            resubmit_meta = { meta.mark + 1 };
        }
        packet.emit(hdr);
    }
}

#define RESUBMIT again_t
#define INGRESS_PARSER TestParser
#define INGRESS TestIngress
#define INGRESS_DEPARSER TestDeparser
#include "../include/psa_skeleton.p4"
