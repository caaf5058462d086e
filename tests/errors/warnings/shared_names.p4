#include <v1model.p4>
struct H { }
struct M { bit<8> x; bit<8> y; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    action a() { }
    @name("a") table t {
        key = { m.x: exact; m.y: ternary @name("m.x"); }
        actions = { a; }
    }
    action_selector(HashAlgorithm.crc16, 16, 8) ways;
    table u {
        key = { m.x: exact; m.x: selector; m.y: selector; }
        actions = { a; }
        implementation = ways;
    }
    @hidden @name("t") action hidden() { m.x = 1; }
    @hidden @name("t") action hidden_too() { m.x = 2; }
    apply { t.apply(); u.apply(); hidden(); hidden_too(); }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
