#include <v1model.p4>
struct none_t {}
parser P(packet_in p, out none_t h, inout none_t m, inout standard_metadata_t s) {
    state start { transition accept; }
}
control C(inout none_t h, inout none_t m) { apply {} }
control I(inout none_t h, inout none_t m, inout standard_metadata_t s) {
    @element_names("malformed", "no route")
    counter(3, CounterType.packets) drops;
    apply { drops.count(0); }
}
control E(inout none_t h, inout none_t m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in none_t h) { apply {} }
V1Switch(P(), C(), I(), E(), C(), D()) main;
