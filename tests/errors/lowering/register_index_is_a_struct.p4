#define V1MODEL_VERSION 20200408
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; }
struct headers_t { h_t h; h_t[4] s; }
struct metadata_t { bit<8> x; bit<32> y; }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout headers_t h, inout metadata_t m) { apply { } }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    register<bit<32>, metadata_t>(64) r;
    apply { r.write(m, 1); }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
