#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> x; }
struct headers_t { h_t h; }
struct meta_t { }
parser P(packet_in p, out headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout meta_t m) { apply { } }
control MyIngress(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) { apply { mark_to_drop(s); } }
control MyEgress(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), MyEgress(), MyIngress(), V(), D()) main;
