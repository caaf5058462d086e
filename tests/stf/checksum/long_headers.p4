// Internet checksums of many bytes that lie one behind the other, in one header and beyond it, as they came and changed.

#include <v1model.p4>

header long_t {
    bit<16> tag;
    bit<128> a;
    bit<128> b;
    bit<128> c;
    bit<64> d;
    bit<16> sum;
}

header more_t {
    bit<128> e;
    bit<128> f;
    bit<128> g;
    bit<24> h;
    bit<8> i;
    bit<16> one;
    bit<16> both;
    bit<16> changed;
}

struct headers_t {
    long_t first;
    more_t second;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.first);
        packet.extract(hdr.second);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hash(hdr.second.one, HashAlgorithm.csum16, 16w0,
             { hdr.first.tag, hdr.first.a, hdr.first.b, hdr.first.c, hdr.first.d }, 32w0x10000);
        hash(hdr.second.both, HashAlgorithm.csum16, 16w0,
             { hdr.first.b, hdr.first.c, hdr.first.d, hdr.first.sum, hdr.second.e, hdr.second.f, hdr.second.g, hdr.second.h,
               hdr.second.i }, 32w0x10000);
        hdr.first.b[63:0] = hdr.first.b[63:0] + 1;
        hdr.second.h = 0xC0FFEE;
        standard_metadata.egress_spec = 2;
    }
}

#define COMPUTE TestComputeChecksum
control TestComputeChecksum(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(true,
            { hdr.first.tag, hdr.first.a, hdr.first.b, hdr.first.c, hdr.first.d, hdr.first.sum, hdr.second.e, hdr.second.f,
              hdr.second.g, hdr.second.h, hdr.second.i }, hdr.second.changed, HashAlgorithm.csum16);
    }
}

#define DEPARSER TestDeparser
control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.first);
        packet.emit(hdr.second);
    }
}

#include "../include/skeleton.p4"
