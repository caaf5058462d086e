// Action data that @name calls otherwise: control planes know them by these names.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> result;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action set(@name("port") bit<9> port_number, @name("value of a") bit<8> value) {
        standard_metadata.egress_spec = port_number;
        hdr.input.result = value;
    }

    table chosen {
        key = {
            hdr.input.a: optional;
        }
        actions = {
            set;
        }
        default_action = set(2, 0xFF);
    }

    apply {
        chosen.apply();
    }
}

#include "../include/skeleton.p4"
