// Each copy has the headers that are valid for it, where many may be.

#include <v1model.p4>

header input_t {
    bit<16> wanted;
    bit<8> group;
}

header byte_t {
    bit<8> value;
}

header parts_t {
    bit<3> first;
    bit<21> second;
}

header wide_t {
    bit<136> value;
}

struct headers_t {
    input_t input;
    byte_t a;
    parts_t b;
    wide_t c;
    byte_t d;
    parts_t e;
    byte_t f;
    byte_t g;
    parts_t h;
    byte_t i;
    byte_t j;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<16>>(1) last;

    apply {
        last.write(0, hdr.input.wanted);
        if (hdr.input.wanted[0:0] == 1) {
            hdr.a = { 0xA1 };
        }
        if (hdr.input.wanted[1:1] == 1) {
            hdr.b = { 5, 0x1B2B3 };
        }
        if (hdr.input.wanted[2:2] == 1) {
            hdr.c = { 0xC0C1C2C3C4C5C6C7C8C9CACBCCCDCECFC0 };
        }
        if (hdr.input.wanted[3:3] == 1) {
            hdr.d = { 0xD1 };
        }
        if (hdr.input.wanted[4:4] == 1) {
            hdr.e = { 7, 0xE };
        }
        if (hdr.input.wanted[5:5] == 1) {
            hdr.f = { 0xF1 };
        }
        if (hdr.input.wanted[6:6] == 1) {
            hdr.g = { 0x61 };
        }
        if (hdr.input.wanted[7:7] == 1) {
            hdr.h = { 0, 0x81828 };
        }
        if (hdr.input.wanted[8:8] == 1) {
            hdr.i = { 0x91 };
        }
        if (hdr.input.wanted[9:9] == 1) {
            hdr.j = { 0 };
        }
        standard_metadata.mcast_grp = (bit<16>)hdr.input.group;
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.egress_port == 4) {
            hdr.c.setInvalid();
            truncate(20);
        }
        if (hdr.j.isValid()) {
            hdr.j.value = (bit<8>)standard_metadata.egress_port;
        }
    }
}

#include "../include/skeleton.p4"
