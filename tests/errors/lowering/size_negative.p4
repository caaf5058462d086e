#include <core.p4>
#include <v1model.p4>
struct headers_t { }
struct metadata_t { bit<8> x; }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout headers_t h, inout metadata_t m) { apply { } }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    table t { key = { m.x: exact; } actions = { NoAction; } size = -5; }
    apply { t.apply(); }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
