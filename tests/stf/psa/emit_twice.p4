// A header that is emitted twice is twice in the frame; the egress parser reads the first, or both.
#include <psa.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

struct headers_t {
    input_t input;
    input_t second;
}

struct meta_t {
    bit<8> mark;
}

struct none_t {}
#define NO_METADATA

#define INGRESS_DEPARSER TestIngressDeparser
control TestIngressDeparser(packet_out packet, out none_t clone_i2e_meta, out none_t resubmit_meta, out none_t normal_meta,
                            inout headers_t hdr, in meta_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        packet.emit(hdr.input);
        packet.emit(hdr.input);
    }
}

#define EGRESS_PARSER TestEgressParser
parser TestEgressParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                        in psa_egress_parser_input_metadata_t istd, in none_t normal_meta, in none_t clone_i2e_meta,
                        in none_t clone_e2e_meta) {
    state start {
        packet.extract(hdr.input);
        hdr.input.value = hdr.input.value + 1;
        transition select(hdr.input.kind) {
            1: both;
            default: accept;
        }
    }
    state both {
        packet.extract(hdr.second);
        transition accept;
    }
}

#include "../include/psa_skeleton.p4"
