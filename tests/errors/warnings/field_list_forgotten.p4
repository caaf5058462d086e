// List 0 preserves nothing where a packet is sent back. It is doubtful where the list that has fields is in no call,
// unless the 0 has a name.
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; }
const bit<8> NOTHING = 0;
struct H { h_t h; }
struct M { @field_list(1) bit<8> x; @field_list(2) bit<8> y; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        m.x = h.h.a;
        m.y = h.h.a;
        if (h.h.a == 1) { resubmit_preserving_field_list(0); }
        if (h.h.a == 3) { resubmit_preserving_field_list(NOTHING); }
        if (h.h.a == 2) { clone_preserving_field_list(CloneType.I2E, 1, 1); }
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
