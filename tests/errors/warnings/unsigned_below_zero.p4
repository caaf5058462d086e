#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> ttl; int<8> change; }
struct headers_t { h_t h; }
struct meta_t { }
parser P(packet_in p, out headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout meta_t m) { apply { } }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (hdr.h.ttl - 1 < 0) { hdr.h.ttl = 0; }
        for (bit<8> i = 3; i >= 0; i -= 1) { hdr.h.ttl += i; }
        if (hdr.h.change < 0) { hdr.h.change = 0; }
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
