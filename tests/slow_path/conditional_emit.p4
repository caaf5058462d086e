// Headers that deparsers of PSA emit on a condition keep no packet off the fast path.
#include <core.p4>
#include <psa.p4>

header byte_t {
    bit<8> value;
}

struct headers_t {
    byte_t input;
    byte_t label;
}

struct meta_t {
    bit<8> mark;
}

#define NO_METADATA
struct none_t {}

control TestIngressDeparser(packet_out packet, out none_t clone_i2e_meta, out none_t resubmit_meta, out none_t normal_meta,
                            inout headers_t hdr, in meta_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        packet.emit(hdr.input);
        if (hdr.label.isValid()) {
            packet.emit(hdr.label);
        }
    }
}

control TestEgressDeparser(packet_out packet, out none_t clone_e2e_meta, out none_t recirculate_meta, inout headers_t hdr,
                           in meta_t meta, in psa_egress_output_metadata_t istd,
                           in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        if (hdr.input.value == 1) {
            packet.emit(hdr.input);
        }
    }
}

#define INGRESS_DEPARSER TestIngressDeparser
#define EGRESS_DEPARSER TestEgressDeparser
#include "../stf/include/psa_skeleton.p4"
