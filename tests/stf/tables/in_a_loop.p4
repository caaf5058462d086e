// A table is applied in a loop; the action that ran decides when to stop.

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
    action follow(bit<8> next) {
        hdr.input.a = next;
        hdr.input.result = hdr.input.result + 1;
    }

    action stop() {}

    table links {
        key = {
            hdr.input.a: exact;
        }
        actions = {
            follow;
            stop;
        }
        default_action = stop();
    }

    apply {
        bool done = false;
        for (bit<8> i in 8w1 .. 10) {
            switch (links.apply().action_run) {
                stop: { done = true; }
                follow: { continue; }
            }
            break;
        }
        hdr.input.b = (bit<1>)done ++ 7w0;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
