#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; bit<16> checksum; }
struct H { h_t h; }
struct M { }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control V(inout H h, inout M m) {
    apply {
        verify_checksum(true, { h.h.a, h.h.b, h.h.checksum }, h.h.checksum, HashAlgorithm.csum16);
    }
}
control I(inout H h, inout M m, inout standard_metadata_t s) { apply { s.egress_spec = 1; } }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control C(inout H h, inout M m) {
    apply {
        update_checksum(true, { h.h.a, h.h.b, h.h.checksum }, h.h.checksum, HashAlgorithm.csum16);
    }
}
control D(packet_out p, in H h) { apply { p.emit(h.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
