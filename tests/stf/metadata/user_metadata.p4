// User metadata goes from the parser through both controls to the checksum block: nested structures, arrays of bits, an
// enum.

#include <v1model.p4>

enum kind_t { small, large }

struct inner_t {
    bit<8> x;
    bit<8> y;
}

struct meta_t {
    inner_t inner;
    kind_t kind;
}

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

struct headers_t {
    input_t input;
}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        meta.inner.x = hdr.input.a;
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.inner.y = meta.inner.x + 1;
        meta.kind = meta.inner.y > 9 ? kind_t.large : kind_t.small;
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.a = meta.inner.x;
        hdr.input.b = meta.inner.y;
        hdr.input.c = meta.kind == kind_t.large ? 8w1 : 8w0;
    }
}

#include "../include/skeleton.p4"
