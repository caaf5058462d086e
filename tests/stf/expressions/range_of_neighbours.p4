// A field that is compared with a constant and the one behind it with a range, in the packet; and what looks alike.
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<4> version;
    bit<4> ihl;
    bit<3> flags;
    bit<13> offset;
    bit<8> last;
    bit<8> result;
}

struct headers_t {
    h_t h;
}

struct metadata_t {}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.h);
        transition accept;
    }
}

control V(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 1;
        bit<8> found = 0;
        if (hdr.h.version == 4 && hdr.h.ihl >= 5) {
            found = found | 1;
        }
        if (hdr.h.ihl < 5 && hdr.h.version == 15) {
            found = found | 2;
        }
        if (hdr.h.flags == 5 && hdr.h.offset <= 0x100) {
            found = found | 4;
        }
        if (hdr.h.flags == 0 && 0x1ffe < hdr.h.offset) {
            found = found | 8;
        }
        // The first field is in a range, the second one is a constant: not one range.
        if (hdr.h.version > 3 && hdr.h.ihl == 5) {
            found = found | 16;
        }
        // Not neighbours.
        if (hdr.h.ihl == 6 && hdr.h.last >= 0xf0) {
            found = found | 32;
        }
        // In two bytes of the same header.
        if (hdr.h.offset == 0x123 && hdr.h.last > 0x7f) {
            found = found | 64;
        }
        // Never.
        if (hdr.h.version == 9 && hdr.h.ihl < 0) {
            found = found | 128;
        }
        hdr.h.result = found;
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control C(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.h);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
