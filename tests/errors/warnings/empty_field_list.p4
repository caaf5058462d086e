// List 0 of a program without lists preserves nothing, which is the only way to say so when a packet is sent back.
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; }
struct H { h_t h; }
struct M { bit<8> x; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (h.h.a == 1) { resubmit_preserving_field_list(0); }
        if (h.h.a == 2) { clone_preserving_field_list(CloneType.I2E, 1, 0); }
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        if (h.h.a == 3) { recirculate_preserving_field_list(0); }
        if (h.h.a == 4) { recirculate_preserving_field_list(1); }
    }
}
control D(packet_out p, in H h) { apply { p.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
