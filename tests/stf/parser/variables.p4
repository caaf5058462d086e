// Variables of a parser live through its states and begin anew for every packet.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> sum;
    bit<8> steps;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    bit<8> sum;
    bit<8> steps = 0;

    state start {
        packet.extract(hdr.input);
        sum = hdr.input.a;
        transition step;
    }

    state step {
        sum = sum + sum;
        steps = steps + 1;
        transition select(sum[7:7]) {
            1: done;
            0: next;
        }
    }

    state next {
        transition select(steps) {
            10: done;
            default: step;
        }
    }

    state done {
        hdr.input.sum = sum;
        hdr.input.steps = steps;
        transition accept;
    }
}

#include "../include/skeleton.p4"
