// Annotations that mean something elsewhere: only what is declared by `type` can be translated, only fields are preserved.
#include <core.p4>
#include <v1model.p4>
@p4runtime_translation("example.com/port", string)
typedef bit<9> port_t;
header h_t { bit<8> a; bit<8> b; }
struct H { h_t h; }
@field_list(1)
struct M { port_t port; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        m.port = s.ingress_port;
        s.egress_spec = m.port;
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
