// An egress parser that reads the port is executed for each copy, so packets that are copied need general code. A packet whose register is written
// cannot be taken back for that.
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

control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    Register<bit<8>, bit<1>>(1, 0) last;

    apply {
        last.write(0, hdr.input.value);
        if (hdr.input.value == 0xff) {
            multicast(ostd, (MulticastGroup_t) 1);
        } else {
            send_to_port(ostd, (PortId_t) 2);
        }
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_egress_parser_input_metadata_t istd,
                  in none_t normal_meta, in none_t clone_i2e_meta, in none_t clone_e2e_meta) {
    state start {
        meta.port = (PortIdUint_t) istd.egress_port; // all: reads the port of each copy, or more than the headers that were emitted, in a program that has changed state before
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

#define INGRESS TestIngress
#define EGRESS_PARSER TestParser
#define EGRESS TestEgress
#include "../stf/include/psa_skeleton.p4"
