// A packet that leaves by the recirculation port begins again as it left, with what the egress deparser gave it.
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
                  in none_t resubmit_meta, in again_t recirculate_meta) {
    state start {
        meta.mark = 0;
        packet.extract(hdr.input);
        transition select(istd.packet_path) {
            PSA_PacketPath_t.RECIRCULATE: again;
            default: accept;
        }
    }

    state again {
        meta.mark = recirculate_meta.round;
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    apply {
        if (hdr.input.kind > 0) {
            hdr.input.kind = hdr.input.kind - 1;
            send_to_port(ostd, PSA_PORT_RECIRCULATE);
        } else {
            hdr.input.value = hdr.input.value + meta.mark;
            if (istd.ingress_port == PSA_PORT_RECIRCULATE) {
                send_to_port(ostd, (PortId_t) 3);
            } else {
                send_to_port(ostd, (PortId_t) 2);
            }
        }
    }
}

control TestDeparser(packet_out packet, out none_t clone_e2e_meta, out again_t recirculate_meta, inout headers_t hdr,
                     in meta_t meta, in psa_egress_output_metadata_t istd,
                     in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        if (psa_recirculate(istd, edstd)) {
            recirculate_meta = { hdr.input.kind + 0x40 };
        }
        packet.emit(hdr);
    }
}

#define RECIRCULATE again_t
#define INGRESS_PARSER TestParser
#define INGRESS TestIngress
#define EGRESS_DEPARSER TestDeparser
#include "../include/psa_skeleton.p4"
