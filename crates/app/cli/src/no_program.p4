// What runs until a controller pushes a program: every packet is dropped.
#include <core.p4>
#include <v1model.p4>

struct headers_t {}
struct metadata_t {}

parser Parse(packet_in packet, out headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    state start {
        transition accept;
    }
}

control Verify(inout headers_t headers, inout metadata_t metadata) {
    apply {}
}

control DropAll(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    apply {
        mark_to_drop(standard);
    }
}

control Nothing(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    apply {}
}

control Compute(inout headers_t headers, inout metadata_t metadata) {
    apply {}
}

control Deparse(packet_out packet, in headers_t headers) {
    apply {}
}

V1Switch(Parse(), Verify(), DropAll(), Nothing(), Compute(), Deparse()) main;
