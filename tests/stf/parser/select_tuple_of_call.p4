// A call that computes a tuple for select is made once, not once for each part of the tuple.

#include <v1model.p4>

header input_t {
    bit<8> calls;
    bit<8> state;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> calls;
}

tuple<bit<8>, bit<8>> twice(inout bit<8> n) {
    n = n + 1;
    return { n, n };
}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        meta.calls = hdr.input.calls;
        transition select(twice(meta.calls), meta.calls) {
            ({1, 1}, 1): same;
            ({1, 2}, 2): twice_called;
            default: other;
        }
    }

    state same {
        hdr.input.state = 1;
        transition accept;
    }

    state twice_called {
        hdr.input.state = 2;
        transition accept;
    }

    state other {
        hdr.input.state = 3;
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.calls = meta.calls;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
