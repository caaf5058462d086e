// A bridge that learns by itself: the entry for a source address and the one for frames to it are a pair. SIZE is how many it learns.

#include <core.p4>
#include <v1model.p4>
#include <forebay.p4>

#ifndef SIZE
#define SIZE 1024
#endif

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {}

parser BridgeParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control BridgeVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control BridgeIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action known(bit<8> seen) {}

    action to_port(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action flood() {
        standard_metadata.mcast_grp = 1;
    }

    action learn() {
        add_entry_pair("known", { 8w1 }, "destinations", { hdr.ethernet.src_addr }, "to_port",
                       { standard_metadata.ingress_port }, 8w5);
    }

    table sources {
        key = {
            hdr.ethernet.src_addr: exact;
        }
        actions = {
            known;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
        size = SIZE;
    }

    table destinations {
        key = {
            hdr.ethernet.dst_addr: exact;
        }
        actions = {
            to_port;
            @defaultonly flood;
        }
        const default_action = flood();
        add_on_miss = true;
        size = SIZE;
    }

    apply {
        sources.apply();
        destinations.apply();
    }
}

control BridgeEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.egress_port == standard_metadata.ingress_port) {
            mark_to_drop(standard_metadata);
        }
    }
}

control BridgeComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control BridgeDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(BridgeParser(), BridgeVerifyChecksum(), BridgeIngress(), BridgeEgress(), BridgeComputeChecksum(),
         BridgeDeparser()) main;
