// Ingress asks for recirculation, which is done after egress. The field list of a later call in egress counts, and copies for a
// multicast group are not recirculated.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    @field_list(1, 2)
    bit<8> round;
    @field_list(2)
    bit<8> by_egress;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action again() {
        recirculate_preserving_field_list(1);
    }

    table rounds {
        key = {
            hdr.input.a: exact;
            meta.round: exact;
        }
        actions = {
            again;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        rounds.apply();
        meta.round = meta.round + 1;
        hdr.input.b = hdr.input.b + 1;
        standard_metadata.egress_spec = 2;
        if (hdr.input.a == 9) {
            standard_metadata.mcast_grp = 5;
        }
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.by_egress == 1) {
            hdr.input.c = 0xEE;
        }
        if (hdr.input.a == 7 && meta.round == 1) {
            meta.by_egress = 1;
            recirculate_preserving_field_list(2);
        }
    }
}

#include "../include/skeleton.p4"
