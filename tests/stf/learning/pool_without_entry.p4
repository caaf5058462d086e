// A number that a packet claims without adding an entry is free again behind the packet.
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
    NumberPool(1) numbers;

    action known(bit<8> number) {
        hdr.input.value = number;
    }

    action learn() {
        bit<32> number;
        bool claimed = numbers.claim(number);
        hdr.input.value = claimed ? 8w0xc0 : 8w0xff;
        if (hdr.input.key >= 0x80) {
            add_entry("known", { number[7:0] }, 8w0);
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
