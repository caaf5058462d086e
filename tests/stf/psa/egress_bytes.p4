// Behind the queue, counters and meters count the frame that ingress has put together: here with or without a header more or less.
#include <psa.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

header added_t {
    bit<32> mark;
}

header hidden_t {
    bit<64> mark;
}

struct headers_t {
    added_t added;
    input_t input;
    hidden_t hidden;
}

struct meta_t {
    bit<8> mark;
}

struct none_t {}
#define NO_METADATA

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    apply {
        // It is valid, and not emitted.
        hdr.hidden.setValid();
        if (hdr.input.kind == 1) {
            hdr.added.setValid();
            hdr.added.mark = 0xaabbccdd;
        } else if (hdr.input.kind == 2) {
            hdr.input.setInvalid();
        }
        if (hdr.input.isValid() && hdr.input.value == 5) {
            multicast(ostd, (MulticastGroup_t) (MulticastGroupUint_t) 32w1);
        } else {
            send_to_port(ostd, (PortId_t) 2);
        }
    }
}

#define INGRESS_DEPARSER TestIngressDeparser
control TestIngressDeparser(packet_out packet, out none_t clone_i2e_meta, out none_t resubmit_meta, out none_t normal_meta,
                            inout headers_t hdr, in meta_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        packet.emit(hdr.added);
        packet.emit(hdr.input);
    }
}

#define EGRESS_PARSER TestEgressParser
parser TestEgressParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                        in psa_egress_parser_input_metadata_t istd, in none_t normal_meta, in none_t clone_i2e_meta,
                        in none_t clone_e2e_meta) {
    state start {
        transition accept;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                   inout psa_egress_output_metadata_t ostd) {
    Counter<bit<64>, bit<8>>(4, PSA_CounterType_t.PACKETS_AND_BYTES) all;
    DirectCounter<bit<64>>(PSA_CounterType_t.BYTES) by_port;

    action count() {
        by_port.count();
    }

    table ports {
        key = { istd.egress_port : exact; }
        actions = { count; NoAction; }
        psa_direct_counter = by_port;
        default_action = NoAction();
    }

    apply {
        all.count(0);
        ports.apply();
    }
}

#define EGRESS_DEPARSER TestEgressDeparser
control TestEgressDeparser(packet_out packet, out none_t clone_e2e_meta, out none_t recirculate_meta,
                           inout headers_t hdr, in meta_t meta, in psa_egress_output_metadata_t istd,
                           in psa_egress_deparser_input_metadata_t edstd) {
    apply {}
}

#include "../include/psa_skeleton.p4"
