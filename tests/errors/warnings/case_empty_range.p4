#include <core.p4>
#include <v1model.p4>
const bit<8> LOW = 5;
header h_t { bit<8> a; int<8> b; }
struct headers_t { h_t h; }
struct meta_t { }
parser P(packet_in p, out headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    state start {
        p.extract(hdr.h);
        transition select(hdr.h.a, hdr.h.b) {
            (3 .. LOW, -3 .. -1): accept;
            (LOW .. 3, _): reject;
            (_, -1 .. -3): reject;
            default: reject;
        }
    }
}
control V(inout headers_t hdr, inout meta_t m) { apply { } }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) { apply { s.egress_spec = 1; } }
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
