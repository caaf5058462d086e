// An egress parser that reads the port keeps no packet off the fast path.
#include <core.p4>
#include <psa.p4>

header byte_t {
    bit<8> value;
}

struct headers_t {
    byte_t input;
}

struct meta_t {
    bit<32> port;
}

#define NO_METADATA
struct none_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_egress_parser_input_metadata_t istd,
                  in none_t normal_meta, in none_t clone_i2e_meta, in none_t clone_e2e_meta) {
    state start {
        meta.port = (PortIdUint_t) istd.egress_port;
        packet.extract(hdr.input);
        transition accept;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    apply {
        hdr.input.value = (bit<8>) meta.port;
    }
}

#define EGRESS_PARSER TestParser
#define EGRESS TestEgress
#include "../stf/include/psa_skeleton.p4"
