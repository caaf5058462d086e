#include <v1model.p4>
struct headers_t {}
struct metadata_t { bit<32> x; bit<8> y; bit<32> z; }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout headers_t h, inout metadata_t m) { apply {} }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    action set(bit<8> v) { m.y = v; }
    table t {
        key = { m.x: range; m.y: optional; m.z: exact; }
        actions = { set; }
        const entries = {
            (0 &&& 0xfff, _, 1): set(1);
            (1, _, _): set(2);
            (1, _, 0x0b000000 &&& 0xff000000): set(3);
            (0 &&& 0xffffff03, _, 0 .. 31): set(4);
            (0, 1 &&& 3, 1): set(5);
            (0, 1 .. 3, 3 .. 1): set(6);
        }
    }
    apply { t.apply(); }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in headers_t h) { apply {} }
V1Switch(P(), V(), I(), E(), V(), D()) main;
