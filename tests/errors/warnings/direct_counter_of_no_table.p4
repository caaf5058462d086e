#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> x; }
struct headers_t { h_t h; }
struct meta_t { }
parser P(packet_in p, out headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout meta_t m) { apply { } }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    direct_counter(CounterType.packets) hits;
    direct_counter(CounterType.packets) others;
    action send(bit<9> port) {
        hits.count();
        s.egress_spec = port;
    }
    action count() { others.count(); }
    table t {
        key = { hdr.h.x : exact; }
        actions = { send; NoAction; }
    }
    table u {
        key = { hdr.h.x : exact; }
        actions = { count; NoAction; }
        counters = others;
    }
    apply {
        t.apply();
        u.apply();
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
