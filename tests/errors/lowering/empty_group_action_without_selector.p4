#include <core.p4>
#include <v1model.p4>
struct headers { }
struct metadata { }
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { transition accept; }
}
control C(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    action forward(bit<9> port) { s.egress_spec = port; }
    table t {
        key = { s.ingress_port : exact; }
        actions = { forward; NoAction; }
        psa_empty_group_action = forward(1);
    }
    apply { t.apply(); }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers h) { apply { } }
V1Switch(P(), C(), I(), E(), C(), D()) main;
