// A parser that rejects does not drop: ingress and egress see the error.
#include <psa.p4>

header input_t {
    bit<8> kind;
}

header rest_t {
    bit<32> value;
}

struct headers_t {
    input_t input;
    rest_t rest;
}

struct meta_t {}

#define NO_METADATA
struct none_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t istd,
                  in none_t resubmit_meta, in none_t recirculate_meta) {
    state start {
        packet.extract(hdr.input);
        packet.extract(hdr.rest);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    apply {
        send_to_port(ostd, (PortId_t) 2);
        if (istd.parser_error == error.PacketTooShort) {
            hdr.input.kind = hdr.input.kind | 0x80;
        }
    }
}

parser TestEgressParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                        in psa_egress_parser_input_metadata_t istd, in none_t normal_meta, in none_t clone_i2e_meta,
                        in none_t clone_e2e_meta) {
    state start {
        packet.extract(hdr.input);
        transition select(hdr.input.kind) {
            0x01: accept;
            0x81: accept;
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    apply {
        if (istd.parser_error == error.NoMatch) {
            hdr.input.kind = hdr.input.kind | 0x40;
        }
    }
}

#define INGRESS_PARSER TestParser
#define INGRESS TestIngress
#define EGRESS_PARSER TestEgressParser
#define EGRESS TestEgress
#include "../include/psa_skeleton.p4"
