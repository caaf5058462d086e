// Clones of packets with and without a second header, from ingress and from egress: each shows its own frame, its own metadata, its path and
// its instance, and has the bytes that its session leaves it.
#include <psa.p4>

header input_t {
    bit<8> kind;
    bit<8> path;
    bit<8> mark;
    bit<8> instance;
}

header more_t {
    bit<16> value;
}

struct headers_t {
    input_t input;
    more_t more;
}

struct meta_t {
    bit<8> mark;
}

#define NO_METADATA
struct none_t {}

struct copy_t {
    bit<8> mark;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t istd,
                  in none_t resubmit_meta, in none_t recirculate_meta) {
    state start {
        packet.extract(hdr.input);
        transition select(hdr.input.kind) {
            0x80 &&& 0x80: more;
            default: accept;
        }
    }

    state more {
        packet.extract(hdr.more);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    apply {
        if (hdr.input.kind[5:5] == 0) {
            send_to_port(ostd, (PortId_t) 2);
        }
        ostd.clone = hdr.input.kind[0:0] == 1;
        ostd.clone_session_id = (CloneSessionId_t) 8;
        meta.mark = hdr.input.mark + 1;
        hdr.input.mark = 0xaa;
        if (hdr.input.kind[6:6] == 1) {
            hdr.more.setValid();
            hdr.more.value = 0x6666;
            hdr.input.kind[7:7] = 1;
        }
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
                        in copy_t clone_e2e_meta) {
    state start {
        transition select(istd.packet_path) {
            PSA_PacketPath_t.CLONE_I2E: of_ingress;
            PSA_PacketPath_t.CLONE_E2E: of_egress;
            default: headers;
        }
    }

    state of_ingress {
        meta.mark = clone_i2e_meta.mark;
        transition headers;
    }

    state of_egress {
        meta.mark = clone_e2e_meta.mark;
        transition headers;
    }

    state headers {
        packet.extract(hdr.input);
        transition select(hdr.input.kind) {
            0x80 &&& 0x80: more;
            default: accept;
        }
    }

    state more {
        packet.extract(hdr.more);
        transition accept;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    apply {
        hdr.input.path = istd.packet_path == PSA_PacketPath_t.CLONE_I2E ? 8w3 : istd.packet_path == PSA_PacketPath_t.CLONE_E2E ? 8w4 : 8w1;
        hdr.input.instance = (bit<8>) (bit<16>) istd.instance;
        if (istd.packet_path == PSA_PacketPath_t.NORMAL_UNICAST) {
            ostd.clone = hdr.input.kind[1:1] == 1;
            ostd.clone_session_id = (CloneSessionId_t) 9;
            if (hdr.input.kind[2:2] == 1) {
                egress_drop(ostd);
            }
        } else {
            hdr.input.mark = meta.mark;
            hdr.more.setInvalid();
        }
    }
}

control TestEgressDeparser(packet_out packet, out copy_t clone_e2e_meta, out none_t recirculate_meta,
                           inout headers_t hdr, in meta_t meta, in psa_egress_output_metadata_t istd,
                           in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        if (psa_clone_e2e(istd)) {
            clone_e2e_meta.mark = 0xee;
        }
        packet.emit(hdr);
    }
}

#define CLONE_I2E copy_t
#define CLONE_E2E copy_t
#define INGRESS_PARSER TestParser
#define INGRESS TestIngress
#define INGRESS_DEPARSER TestDeparser
#define EGRESS_PARSER TestEgressParser
#define EGRESS TestEgress
#define EGRESS_DEPARSER TestEgressDeparser
#include "../include/psa_skeleton.p4"
