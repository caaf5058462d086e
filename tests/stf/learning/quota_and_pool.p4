// What a packet takes before it finds that there is too little returns behind it.
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
    Quota(1) shares;
    NumberPool(8) numbers;

    action known(bit<8> number) {
        hdr.input.value = number;
    }

    action learn() {
        bit<32> number;
        hdr.input.value = 0xff;
        if (numbers.claim(number)) {
            if (shares.take(0, 1)) {
                add_entry("known", { number[7:0] }, 8w0);
                hdr.input.value = number[7:0];
            }
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
