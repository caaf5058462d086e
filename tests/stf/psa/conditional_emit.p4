// Deparsers that emit a header again on a condition, and that change a header which is emitted already.
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

struct none_t {}
#define NO_METADATA

#define INGRESS_DEPARSER TestIngressDeparser
control TestIngressDeparser(packet_out packet, out none_t clone_i2e_meta, out none_t resubmit_meta, out none_t normal_meta,
                            inout headers_t hdr, in meta_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        if (hdr.input.kind == 1) {
            packet.emit(hdr.input);
        }
        packet.emit(hdr.input);
    }
}

#define EGRESS_DEPARSER TestEgressDeparser
control TestEgressDeparser(packet_out packet, out none_t clone_e2e_meta, out none_t recirculate_meta,
                           inout headers_t hdr, in meta_t meta, in psa_egress_output_metadata_t istd,
                           in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        packet.emit(hdr.input);
        hdr.input.value = 0xff;
    }
}

#include "../include/psa_skeleton.p4"
