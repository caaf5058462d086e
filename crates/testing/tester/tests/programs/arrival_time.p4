// Writes the time of arrival into each frame, as in-band telemetry does.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct meta_t {}

parser TimeParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control TimeIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.ethernet.src_addr = standard_metadata.ingress_global_timestamp;
        standard_metadata.egress_spec = 3;
    }
}

control TimeEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control NoChecksum(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TimeDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(TimeParser(), NoChecksum(), TimeIngress(), TimeEgress(), NoChecksum(), TimeDeparser()) main;
