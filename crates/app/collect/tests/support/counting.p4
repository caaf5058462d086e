#include <core.p4>
#include <v1model.p4>
// Counts packets and their bytes, and sends them back.
struct headers { }
struct metadata { }
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) { state start { transition accept; } }
control C(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    counter(4, CounterType.packets_and_bytes) seen;
    action back() { s.egress_spec = s.ingress_port; }
    table ways { actions = { back; } default_action = back(); }
    apply { seen.count(1); ways.apply(); }
}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers h) { apply { } }
V1Switch(P(), C(), I(), E(), C(), D()) main;
