// The egress parser is told the port of a packet, and that of each copy; it may decide by it.
#include <psa.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

header more_t {
    bit<8> value;
}

struct headers_t {
    input_t input;
    more_t more;
}

struct meta_t {
    bit<32> port;
}

#define NO_METADATA
struct none_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    apply {
        if (hdr.input.kind == 0xff) {
            multicast(ostd, (MulticastGroup_t) 1);
        } else {
            send_to_port(ostd, (PortId_t) (PortIdUint_t) hdr.input.kind);
        }
    }
}

#define EGRESS_PARSER TestEgressParser
parser TestEgressParser(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_egress_parser_input_metadata_t istd,
                        in none_t normal_meta, in none_t clone_i2e_meta, in none_t clone_e2e_meta) {
    state start {
        meta.port = (PortIdUint_t) istd.egress_port;
        packet.extract(hdr.input);
        transition select((PortIdUint_t) istd.egress_port) {
            3: with_more;
            default: accept;
        }
    }

    state with_more {
        packet.extract(hdr.more);
        transition accept;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    apply {
        hdr.input.value = (bit<8>) meta.port;
        if (hdr.more.isValid()) {
            hdr.more.value = 0xee;
        }
    }
}

#include "../include/psa_skeleton.p4"
