// A packet that is cloned, resubmitted or recirculated changes registers once for each pass, before and after the queue.
#include <psa.p4>

header input_t {
    bit<8> kind;
    bit<8> passes;
    bit<8> left;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> rounds;
}

#define NO_METADATA
struct none_t {}

struct rounds_t {
    bit<8> rounds;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t istd,
                  in rounds_t resubmit_meta, in rounds_t recirculate_meta) {
    state start {
        meta.rounds = resubmit_meta.rounds | recirculate_meta.rounds;
        packet.extract(hdr.input);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    Register<bit<8>, bit<8>>(1, 0) passes;

    apply {
        bit<8> before = passes.read(0);
        passes.write(0, before + 1);
        if (hdr.input.kind != 4) {
            send_to_port(ostd, (PortId_t) 2);
        }
        ostd.clone_session_id = (CloneSessionId_t) 8;
        ostd.clone = hdr.input.kind == 1 || hdr.input.kind == 4;
        if (meta.rounds == 0) {
            ostd.resubmit = hdr.input.kind == 2;
            if (hdr.input.kind == 3) {
                send_to_port(ostd, (PortId_t) PSA_PORT_RECIRCULATE);
            }
        }
        meta.rounds = 1;
        hdr.input.passes = before;
    }
}

control TestDeparser(packet_out packet, out none_t clone_i2e_meta, out rounds_t resubmit_meta, out none_t normal_meta,
                     inout headers_t hdr, in meta_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        if (psa_resubmit(istd)) {
            resubmit_meta.rounds = meta.rounds;
        }
        packet.emit(hdr);
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    Register<bit<8>, bit<8>>(1, 0) left;

    apply {
        bit<8> before = left.read(0);
        left.write(0, before + 1);
        hdr.input.left = before;
    }
}

control TestEgressDeparser(packet_out packet, out none_t clone_e2e_meta, out rounds_t recirculate_meta,
                           inout headers_t hdr, in meta_t meta, in psa_egress_output_metadata_t istd,
                           in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        recirculate_meta.rounds = 1;
        packet.emit(hdr);
    }
}

#define RESUBMIT rounds_t
#define RECIRCULATE rounds_t
#define INGRESS_PARSER TestParser
#define INGRESS TestIngress
#define INGRESS_DEPARSER TestDeparser
#define EGRESS TestEgress
#define EGRESS_DEPARSER TestEgressDeparser
#include "../include/psa_skeleton.p4"
