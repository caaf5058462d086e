// The parser of an exercise that is not written yet.
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> destination; bit<48> source; bit<16> type; }
header ipv4_t { bit<8> ttl; bit<32> destination; }
struct H { ethernet_t ethernet; ipv4_t ipv4; }
struct M { }
parser P(packet_in p, out H hdr, inout M m, inout standard_metadata_t s) {
    state start {
        p.extract(hdr.ethernet);
        transition accept;
    }
}
control V(inout H hdr, inout M m) { apply { } }
control I(inout H hdr, inout M m, inout standard_metadata_t s) {
    action forward(bit<9> port) {
        s.egress_spec = port;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    table routes {
        key = { hdr.ipv4.destination: lpm; }
        actions = { forward; NoAction; }
        default_action = NoAction();
    }
    apply {
        if (hdr.ipv4.isValid()) {
            routes.apply();
        }
    }
}
control E(inout H hdr, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
