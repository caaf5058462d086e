// What the programs of this folder share: the blocks of v1model that do nothing.
#include <core.p4>
#include <v1model.p4>

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
    }
}

control EmitAll(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}
