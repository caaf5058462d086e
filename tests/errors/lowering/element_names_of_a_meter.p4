#include <v1model.p4>
struct none_t {}
parser P(packet_in p, out none_t h, inout none_t m, inout standard_metadata_t s) {
    state start { transition accept; }
}
control C(inout none_t h, inout none_t m) { apply {} }
control I(inout none_t h, inout none_t m, inout standard_metadata_t s) {
    bit<2> colour;
    @element_names("slow", "fast")
    meter(2, MeterType.packets) rates;
    apply { rates.execute_meter(0, colour); }
}
control E(inout none_t h, inout none_t m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in none_t h) { apply {} }
V1Switch(P(), C(), I(), E(), C(), D()) main;
