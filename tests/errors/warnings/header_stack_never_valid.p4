// Of a stack an element is extracted, or made valid.
#include <core.p4>
#include <v1model.p4>
header hop_t { bit<1> last; bit<15> port; }
struct H { hop_t[9] hops; }
struct M { }
parser P(packet_in p, out H hdr, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout H hdr, inout M m) { apply { } }
control I(inout H hdr, inout M m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = (bit<9>) hdr.hops[0].port;
        hdr.hops.pop_front(1);
    }
}
control E(inout H hdr, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
