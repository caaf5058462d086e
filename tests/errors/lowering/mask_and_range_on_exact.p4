#include <v1model.p4>
struct headers_t {}
struct metadata_t { bit<8> x; bit<8> y; }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout headers_t h, inout metadata_t m) { apply {} }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    action set(bit<8> v) { m.x = v; }
    table t {
        key = { m.x: exact; m.y: ternary; }
        actions = { set; }
        const entries = {
            (1 &&& 3, 1): set(1);
            (1..3, 1): set(2);
            (1 &&& 0xff, 1): set(3);
            (_, 1): set(4);
        }
    }
    apply { t.apply(); }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in headers_t h) { apply {} }
V1Switch(P(), V(), I(), E(), V(), D()) main;
