// A clone of egress is the frame as the egress deparser made it; it goes through egress again.
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

#define NO_METADATA
struct none_t {}

struct copy_t {
    bit<8> mark;
}

parser TestEgressParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                        in psa_egress_parser_input_metadata_t istd, in none_t normal_meta, in none_t clone_i2e_meta,
                        in copy_t clone_e2e_meta) {
    state start {
        meta.mark = 0;
        packet.extract(hdr.input);
        transition select(istd.packet_path) {
            PSA_PacketPath_t.CLONE_E2E: copy;
            default: accept;
        }
    }

    state copy {
        meta.mark = clone_e2e_meta.mark;
        transition accept;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    apply {
        if (istd.packet_path == PSA_PacketPath_t.CLONE_E2E) {
            hdr.input.value = meta.mark;
        } else {
            hdr.input.kind = hdr.input.kind + 1;
            ostd.clone = true;
            ostd.clone_session_id = (CloneSessionId_t) 9;
            if (hdr.input.value == 0xdd) {
                egress_drop(ostd);
            }
        }
    }
}

control TestDeparser(packet_out packet, out copy_t clone_e2e_meta, out none_t recirculate_meta, inout headers_t hdr,
                     in meta_t meta, in psa_egress_output_metadata_t istd,
                     in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        if (psa_clone_e2e(istd)) {
            clone_e2e_meta.mark = 0xe0 | hdr.input.kind;
        }
        packet.emit(hdr);
    }
}

#define CLONE_E2E copy_t
#define EGRESS_PARSER TestEgressParser
#define EGRESS TestEgress
#define EGRESS_DEPARSER TestDeparser
#include "../include/psa_skeleton.p4"
