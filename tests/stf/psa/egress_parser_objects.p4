// Registers, counters and random numbers of the egress parser: every copy of a packet is parsed.

#include <psa.p4>

header input_t {
    bit<8> group;
    bit<8> parsed;
    bit<8> drawn;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> parsed;
    bit<8> drawn;
}

struct none_t {}
#define NO_METADATA

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    apply {
        if (hdr.input.group == 0) {
            send_to_port(ostd, (PortId_t) 2);
        } else {
            multicast(ostd, (MulticastGroup_t) 5);
        }
    }
}

#define EGRESS_PARSER TestEgressParser
parser TestEgressParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                        in psa_egress_parser_input_metadata_t istd, in none_t normal_meta, in none_t clone_i2e_meta,
                        in none_t clone_e2e_meta) {
    Register<bit<8>, bit<8>>(1) last;
    Counter<bit<32>, bit<8>>(1, PSA_CounterType_t.PACKETS) all;
    Random<bit<8>>(7, 7) seven;

    state start {
        packet.extract(hdr.input);
        meta.parsed = last.read(0) + 1;
        last.write(0, meta.parsed);
        all.count(0);
        meta.drawn = seven.read();
        transition accept;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    apply {
        hdr.input.parsed = meta.parsed;
        hdr.input.drawn = meta.drawn;
    }
}

#include "../include/psa_skeleton.p4"
