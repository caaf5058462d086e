// Any of many headers may be emitted, before one that stays in the packet.

#include <v1model.p4>

header input_t {
    bit<16> wanted;
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

header last_t {
    bit<8> kept;
    bit<8> changed;
}

struct headers_t {
    byte_t a;
    input_t input;
    parts_t b;
    wide_t c;
    byte_t d;
    parts_t e;
    byte_t parsed;
    byte_t f;
    byte_t g;
    parts_t h;
    byte_t i;
    byte_t j;
    last_t last;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        packet.extract(hdr.parsed);
        packet.extract(hdr.last);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
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
            hdr.d = { hdr.parsed.value };
        }
        if (hdr.input.wanted[4:4] == 1) {
            hdr.e = { 7, 0xE };
        }
        if (hdr.input.wanted[5:5] == 1) {
            hdr.f = { hdr.last.kept };
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
            hdr.j = { 0xB1 };
        }
        if (hdr.input.wanted[10:10] == 1) {
            hdr.parsed.setInvalid();
        }
        if (hdr.input.wanted[11:11] == 1) {
            hdr.input.setInvalid();
        }
        hdr.last.changed = hdr.last.changed + 1;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
