#include <v1model.p4>
struct headers_t {}
struct metadata_t { bit<8> x; bit<8> y; }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout headers_t h, inout metadata_t m) { apply {} }
control Inner(inout bit<8> x) {
    counter(4, CounterType.packets) used;
    table t { key = { x: exact; } actions = { NoAction; } }
    apply { t.apply(); used.count(0); }
}
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply { Inner.apply(m.x); Inner.apply(m.y); }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    @name("shared") register<bit<8>>(1) one;
    @name("shared") register<bit<8>>(1) two;
    apply { one.write(0, 1); two.write(0, 1); }
}
control D(packet_out p, in headers_t h) { apply {} }
V1Switch(P(), V(), I(), E(), V(), D()) main;
