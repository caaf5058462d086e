// An entry holds the numbers of several pools.
#include <v1model.p4>
#include <forebay.p4>

header input_t {
    bit<8> key;
    bit<8> value;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    NumberPool(2) tens;
    NumberPool(3) ones;

    action known(bit<8> number) {
        hdr.input.value = number;
    }

    action learn() {
        bit<32> ten;
        bit<32> one;
        bool has_ten = tens.claim(ten);
        bool has_one = ones.claim(one);
        hdr.input.value = 0xff;
        if (has_ten && has_one) {
            bit<8> number = ten[3:0] ++ one[3:0];
            add_entry("known", { number }, 8w0);
            hdr.input.value = number;
        }
    }

    table flows {
        key = {
            hdr.input.key: exact;
        }
        actions = {
            known;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
    }

    apply {
        standard_metadata.egress_spec = 2;
        flows.apply();
    }
}

#define INGRESS TestIngress
#include "../include/skeleton.p4"
