#include <core.p4>
#include <v1model.p4>
struct headers_t { }
struct meta_t { }
parser P(packet_in p, out headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    state start { transition accept; }
}
control MyVerify(inout headers_t hdr, inout meta_t m) { apply { } }
control MyIngress(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) { apply { } }
control MyEgress(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) { apply { } }
control MyCompute(inout headers_t hdr, inout meta_t m) { apply { } }
control MyDeparser(packet_out p, in headers_t hdr) { apply { p.emit(hdr); } }
V1Switch(P(), MyVerify(), MyIngress(), MyCompute(), MyEgress(), MyDeparser()) main;
