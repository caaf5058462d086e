#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; }
struct H { h_t h; h_t other; }
struct M { bit<8> x; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control V(inout H h, inout M m) { apply { } }
control Part(inout M m) { apply { m.x = 1; } }
control Unused(inout M m) { action inside() { } apply { m.x = 2; } }
action unused() { }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    counter(4, CounterType.packets) unused_counter;
    @noWarn("unused") register<bit<8>>(4) for_the_controller;
    Part() part;
    action lonely() { h.h.a = 1; }
    action used() { h.h.a = 2; }
    table t { key = { h.h.a: exact; } actions = { used; NoAction; } }
    table never { key = { h.h.a: exact; } actions = { used; NoAction; } }
    apply { t.apply(); }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
V1Switch(P(), V(), I(), E(), V(), D()) other;
