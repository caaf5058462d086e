#include <core.p4>
#include <v1model.p4>
header h_t { bit<16> kind; bit<32> dst; }
struct headers_t { h_t h; }
struct metadata_t { bit<16> group; }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control V(inout headers_t h, inout metadata_t m) { apply { } }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    @entry_restriction("
        // IPv4 only where it is IPv4
        h.h.dst::mask != 0 -> kind == 0x800;
    ")
    table t { key = { h.h.kind: exact; h.h.dst: ternary; } actions = { NoAction; } }
    apply { t.apply(); }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
