#include <v1model.p4>
struct H { }
struct M { bit<8> x; bit<8> y; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    @name(".set") action set(bit<8> value) { m.x = value; }
    table t { key = { m.x: exact; } actions = { set; } default_action = set(1); }
    apply { t.apply(); }
}
control E(inout H h, inout M m, inout standard_metadata_t s) {
    @name(".set") action set(bit<8> value) { m.y = value; }
    table t { key = { m.x: exact; } actions = { set; } default_action = set(1); }
    apply { t.apply(); }
}
control D(packet_out p, in H h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
