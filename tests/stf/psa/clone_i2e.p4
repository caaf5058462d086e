// A clone of ingress is the frame that arrived, with what the ingress deparser gave it; it goes through egress only.
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

control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    apply {
        if (hdr.input.kind != 0xdd) {
            send_to_port(ostd, (PortId_t) 2);
        }
        ostd.clone = true;
        ostd.clone_session_id = (CloneSessionId_t) 8;
        meta.mark = hdr.input.value + 1;
        hdr.input.value = 0xaa;
    }
}

control TestDeparser(packet_out packet, out copy_t clone_i2e_meta, out none_t resubmit_meta, out none_t normal_meta,
                     inout headers_t hdr, in meta_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        if (psa_clone_i2e(istd)) {
            clone_i2e_meta.mark = meta.mark;
        }
        packet.emit(hdr);
    }
}

parser TestEgressParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                        in psa_egress_parser_input_metadata_t istd, in none_t normal_meta, in copy_t clone_i2e_meta,
                        in none_t clone_e2e_meta) {
    state start {
        meta.mark = 0;
        packet.extract(hdr.input);
        transition select(istd.packet_path) {
            PSA_PacketPath_t.CLONE_I2E: copy;
            default: accept;
        }
    }

    state copy {
        meta.mark = clone_i2e_meta.mark;
        transition accept;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    apply {
        hdr.input.kind = meta.mark;
    }
}

#define CLONE_I2E copy_t
#define INGRESS TestIngress
#define INGRESS_DEPARSER TestDeparser
#define EGRESS_PARSER TestEgressParser
#define EGRESS TestEgress
#include "../include/psa_skeleton.p4"
