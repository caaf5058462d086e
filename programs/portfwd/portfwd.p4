// Port forwarding: a frame that arrives on a port leaves by the port that the table names. Frames are not parsed.

#include <core.p4>
#include <v1model.p4>

struct headers_t {}

struct metadata_t {}

parser PortForwardParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                         inout standard_metadata_t standard_metadata) {
    state start {
        transition accept;
    }
}

control PortForwardVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control PortForwardIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    table ports {
        key = {
            standard_metadata.ingress_port: exact;
        }
        actions = {
            forward;
            drop;
        }
        default_action = drop();
        size = 512;
    }

    apply {
        ports.apply();
    }
}

control PortForwardEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control PortForwardComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control PortForwardDeparser(packet_out packet, in headers_t hdr) {
    apply {}
}

V1Switch(PortForwardParser(), PortForwardVerifyChecksum(), PortForwardIngress(), PortForwardEgress(),
         PortForwardComputeChecksum(), PortForwardDeparser()) main;
