#include <core.p4>
#include <v1model.p4>
extern Checksum { Checksum(); bit<16> update<T>(in T data); }
extern void send_to_port(in bit<9> port);
struct headers_t { }
struct metadata_t { bit<16> x; }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout headers_t h, inout metadata_t m) { apply { } }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    Checksum() checksum;
    apply {
        m.x = checksum.update({ m.x });
        send_to_port(1);
    }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
