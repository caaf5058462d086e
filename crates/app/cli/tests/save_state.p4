// One large table, for tests of what survives a switch that is killed.

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

struct metadata_t {}

parser SaveParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control SaveVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SaveIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    table addresses {
        key = {
            hdr.ethernet.dst_addr: exact;
        }
        actions = {
            forward;
            @defaultonly NoAction;
        }
        size = 65536;
    }

    apply {
        addresses.apply();
    }
}

control SaveEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control SaveCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SaveDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(SaveParser(), SaveVerify(), SaveIngress(), SaveEgress(), SaveCompute(), SaveDeparser()) main;
