// Two controls have an action of one control-plane name and the same data, as programs that p4c translates from P4_14
// have them. Each table has its own.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> first;
    bit<8> second;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

control Second(inout headers_t hdr) {
    @name(".set") action set_second(bit<8> value) {
        hdr.input.second = value;
    }

    @name(".nop") action nop() {
    }

    table second {
        key = {
            hdr.input.a: exact;
        }
        actions = {
            set_second;
            nop;
        }
        default_action = nop();
    }

    apply {
        second.apply();
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    Second() other;

    @name(".set") action set_first(bit<8> value) {
        hdr.input.first = value;
    }

    @name(".nop") action nop() {
        hdr.input.first = 0xEE;
    }

    table first {
        key = {
            hdr.input.a: exact;
        }
        actions = {
            set_first;
            nop;
        }
        default_action = nop();
    }

    apply {
        first.apply();
        other.apply(hdr);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
