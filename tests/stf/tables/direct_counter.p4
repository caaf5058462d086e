// A direct counter counts the packets and bytes that hit each entry; a miss is in none of them.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> result;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) hits;

    action set(bit<8> value) {
        hdr.input.result = value;
        hits.count();
    }

    table chosen {
        key = {
            hdr.input.a: exact;
        }
        actions = {
            set;
            NoAction;
        }
        default_action = NoAction();
        counters = hits;
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
