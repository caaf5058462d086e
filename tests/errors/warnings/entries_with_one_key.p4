#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> x; bit<8> y; }
struct H { h_t h; }
struct M { }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    action a() { }
    table t {
        key = { h.h.x: ternary; h.h.y: exact; }
        actions = { a; NoAction; }
        const entries = {
            (_, 6): a();
            (0x12 &&& 0xf0, 6): a();
            (0x34 &&& 0, 6): NoAction();
            (0x17 &&& 0xf0, 6): NoAction();
        }
    }
    apply { t.apply(); }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
