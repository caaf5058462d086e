#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> kind; }
header ipv4_t { bit<8> ttl; bit<8> protocol; bit<16> checksum; }
struct headers_t { ethernet_t ethernet; ipv4_t ipv4; }
struct meta_t { }
parser P(packet_in p, out headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    state start {
        p.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) {
            0x800: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        p.extract(hdr.ipv4);
        transition accept;
    }
}
control V(inout headers_t hdr, inout meta_t m) { apply { } }
control I(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) { apply { s.egress_spec = 1; } }
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    action forward(bit<9> port) { s.egress_spec = port; }
    table t { key = { hdr.ethernet.dst : exact; } actions = { forward; NoAction; } }
    apply {
        t.apply();
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl == 0) { s.egress_spec = 511; }
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl == 1) { mark_to_drop(s); }
    }
}
control D(packet_out p, in headers_t hdr) {
    apply {
        p.emit(hdr.ethernet);
        p.emit(hdr.ipv4);
    }
}
V1Switch(P(), V(), I(), E(), V(), D()) main;
