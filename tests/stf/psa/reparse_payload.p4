// The egress parser reads other headers than the ingress deparser has emitted: two as one, and one of the payload.
#include <psa.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

header pair_t {
    bit<8> kind;
    bit<8> value;
    bit<8> further_kind;
    bit<8> further_value;
}

struct headers_t {
    input_t input;
    input_t further;
    pair_t pair;
}

struct meta_t {
    bit<8> mark;
}

struct none_t {}
#define NO_METADATA

#define INGRESS_PARSER TestIngressParser
parser TestIngressParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                         in psa_ingress_parser_input_metadata_t istd, in none_t resubmit_meta,
                         in none_t recirculate_meta) {
    state start {
        packet.extract(hdr.input);
        transition select(hdr.input.kind) {
            1: further;
            default: accept;
        }
    }
    state further {
        packet.extract(hdr.further);
        transition accept;
    }
}

#define EGRESS_PARSER TestEgressParser
parser TestEgressParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                        in psa_egress_parser_input_metadata_t istd, in none_t normal_meta, in none_t clone_i2e_meta,
                        in none_t clone_e2e_meta) {
    state start {
        transition select(packet.lookahead<bit<8>>()) {
            0: one;
            1: both;
            2: both;
            3: skip;
            default: accept;
        }
    }
    state one {
        packet.extract(hdr.input);
        transition accept;
    }
    state both {
        packet.extract(hdr.pair);
        transition accept;
    }
    state skip {
        packet.advance(16);
        packet.extract(hdr.input);
        transition accept;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    apply {
        hdr.input.value = hdr.input.value + 1;
        hdr.pair.value = hdr.pair.value + 0x10;
        hdr.pair.further_value = hdr.pair.further_value + 0x20;
    }
}

#include "../include/psa_skeleton.p4"
