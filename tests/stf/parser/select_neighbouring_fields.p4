// A select over several fields of one header: parts of bytes, masks, a key of which some bits are always zero, gaps between them.

#include <v1model.p4>

header input_t {
    bit<4> a;
    bit<4> b;
    bit<3> c;
    bit<13> d;
    bit<8> unasked;
    bit<8> e;
    bit<16> f;
    bit<8> result;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> found;
}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        transition select(hdr.input.a, hdr.input.b, hdr.input.c & 1, hdr.input.d, hdr.input.e, hdr.input.f) {
            (4, 5, 0, 0, 17, 0x1234): first;
            (4, _, 1, 0x1F00 &&& 0x1F00, 17, _): second;
            (_, _, 2, _, _, _): never;
            (_, 5, 0 &&& 2, _, 6, 0x0012 &&& 0x00FF): third;
            (1..3, _, _, _, _, _): fourth;
            default: accept;
        }
    }
    state first { meta.found = 1; transition accept; }
    state second { meta.found = 2; transition accept; }
    state third { meta.found = 3; transition accept; }
    state fourth { meta.found = 4; transition accept; }
    state never { meta.found = 0xEE; transition accept; }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.result = meta.found;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
