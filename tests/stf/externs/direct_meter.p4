// A direct meter gives each entry its own colours.

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
    direct_meter<bit<8>>(MeterType.packets) rate;

    action measure() {
        rate.read(hdr.input.result);
    }

    table chosen {
        key = {
            hdr.input.a: exact;
        }
        actions = {
            measure;
            NoAction;
        }
        default_action = NoAction();
        meters = rate;
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
