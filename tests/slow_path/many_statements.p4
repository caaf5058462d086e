// More statements on all paths through the parser together than are compiled.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> result;
}

header byte_t {
    bit<8> value;
}

struct headers_t {
    input_t input;
    byte_t first;
    byte_t second;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input); // some: 1 of the 3 paths through the parser is compiled at the start with more than 6500 statements, the others when packets take them if no more than 18000 statements follow on each
        transition select(hdr.input.a) {
            1: take_first;
            2: take_second;
            default: accept;
        }
    }

    state take_first {
        packet.extract(hdr.first);
        transition accept;
    }

    state take_second {
        packet.extract(hdr.second);
        transition accept;
    }
}

#define STEP if (hdr.input.b == hdr.input.result) { hdr.input.result = hdr.input.result + 3; } else { hdr.input.b = hdr.input.b - hdr.input.result; }
#define TEN(step) step step step step step step step step step step

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        TEN(TEN(TEN(STEP STEP)))
        standard_metadata.egress_spec = 2;
    }
}

#include "../stf/include/skeleton.p4"
