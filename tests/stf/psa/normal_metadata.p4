// Of what ingress knows, egress gets normal_meta and the frame, nothing else.
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

header small_t {
    bit<8> value;
}

struct across_t {
    bit<8> mark;
    small_t small;
}

control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    apply {
        meta.mark = hdr.input.value;
        send_to_port(ostd, (PortId_t) 2);
    }
}

control TestDeparser(packet_out packet, out none_t clone_i2e_meta, out none_t resubmit_meta, out across_t normal_meta,
                     inout headers_t hdr, in meta_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        normal_meta.mark = meta.mark + 1;
        if (hdr.input.kind == 1) {
            normal_meta.small.setValid();
            normal_meta.small.value = 0x55;
        }
        packet.emit(hdr);
    }
}

parser TestEgressParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                        in psa_egress_parser_input_metadata_t istd, in across_t normal_meta, in none_t clone_i2e_meta,
                        in none_t clone_e2e_meta) {
    state start {
        packet.extract(hdr.input);
        hdr.input.value = normal_meta.mark;
        transition select(normal_meta.small.isValid()) {
            true: small;
            default: accept;
        }
    }

    state small {
        hdr.input.kind = normal_meta.small.value;
        transition accept;
    }
}

#define NORMAL across_t
#define INGRESS TestIngress
#define INGRESS_DEPARSER TestDeparser
#define EGRESS_PARSER TestEgressParser
#include "../include/psa_skeleton.p4"
