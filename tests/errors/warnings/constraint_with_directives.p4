// Lines of a string that goes over several lines may be directives; the mistake is marked where it stands.
#include <core.p4>
#include <v1model.p4>
#define IPV4 0x0800
header h_t { bit<16> kind; bit<32> dst; }
struct H { h_t h; }
struct M { }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    @entry_restriction("
        // Only IPv4 has addresses.
        h.h.dst::mask != 0 -> h.h.kind == IPV4;
#ifdef STRICT
        h.h.kind != 7;
#else
        h.h.knd != 7;
#endif
    ")
    table t {
        key = { h.h.kind: exact; h.h.dst: ternary; }
        actions = { NoAction; }
    }
    apply { t.apply(); }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
