// A varbit that could hold the longest payload of an IP packet holds those of ordinary packets.
#include <core.p4>
#include <v1model.p4>
header length_t { bit<16> bytes_; }
header payload_t { varbit<524280> data; }
struct H { length_t length; payload_t one; payload_t two; }
struct M { }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start {
        p.extract(h.length);
        p.extract(h.one, 8 * (bit<32>) h.length.bytes_);
        p.extract(h.two, 8);
        transition accept;
    }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) { apply { s.egress_spec = 1; } }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
