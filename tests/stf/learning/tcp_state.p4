// The state of a connection is in a register under a number of a pool; the time of its entries follows.
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
    NumberPool(4) numbers;
    register<bit<8>>(4) states;

    // `value`: 1 opens, 2 is data, 3 closes.
    action known(bit<32> number) {
        bit<8> state;
        states.read(state, number);
        bit<8> next = state;
        if (hdr.input.value == 2 && state == 1) {
            next = 2;
            set_entry_expire_time(8w2);
        } else if (hdr.input.value == 3) {
            next = 3;
            set_entry_expire_time(8w0);
        }
        if (next != state) {
            states.write(number, next);
        }
        hdr.input.value = next;
    }

    action learn() {
        bit<32> number;
        if (hdr.input.value == 1 && numbers.claim(number)) {
            add_entry("known", { number }, 8w0);
            states.write(number, 1);
        } else {
            mark_to_drop(standard_metadata);
        }
    }

    @expire_seconds(5, 0, 60)
    table connections {
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
        connections.apply();
    }
}

#define INGRESS TestIngress
#include "../include/skeleton.p4"
