// An action that exits ends egress; the packet is deparsed and cloned all the same.
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

control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    action leave() {
        exit;
    }

    action go_on() {
        meta.mark = 2;
    }

    table leaving {
        key = {
            hdr.input.kind: exact;
        }
        actions = {
            leave;
            go_on;
        }
        const entries = {
            0: leave();
            1: go_on();
        }
        default_action = go_on();
    }

    apply {
        if (istd.packet_path == PSA_PacketPath_t.CLONE_E2E) {
            hdr.input.kind = 0xff;
        } else {
            meta.mark = 1;
            ostd.clone = true;
            ostd.clone_session_id = (CloneSessionId_t) 9;
            leaving.apply();
            hdr.input.kind = hdr.input.kind | 0x10;
        }
    }
}

control TestDeparser(packet_out packet, out none_t clone_e2e_meta, out none_t recirculate_meta, inout headers_t hdr,
                     in meta_t meta, in psa_egress_output_metadata_t istd,
                     in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        hdr.input.value = hdr.input.value + meta.mark;
        packet.emit(hdr);
    }
}

#define EGRESS TestEgress
#define EGRESS_DEPARSER TestDeparser
#include "../include/psa_skeleton.p4"
