#include <core.p4>
#include <v1model.p4>
header h_t { bit<16> kind; bit<32> dst; }
struct headers_t { h_t h; }
struct metadata_t { bit<16> group; }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control V(inout headers_t h, inout metadata_t m) { apply { } }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    @action_restriction("group != 0")
    action set_group(bit<16> group) { m.group = group; }
    @entry_restriction("h.h.dst::prefix_length >= 8;" "h.h.kind != 7")
    table t {
        key = { h.h.kind: exact; h.h.dst: lpm; }
        actions = { set_group; NoAction; }
        const entries = {
            (3 .. 5, 32w0x0a000000 &&& 32w0xff000000): set_group(3);
            (1, 32w0x0a000000 &&& 32w0xff000000): set_group(1);
            (1, 32w0x0c000000 &&& 32w0xfe000000): set_group(2);
            (6 .. 8, 32w0x0a000000 &&& 32w0xff000000): set_group(4);
            (2, 32w0x0a000000 &&& 32w0xff000000): set_group(0);
        }
    }
    apply { t.apply(); }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
