// Ethernet forwarding as in programs/l2fwd, without flooding; with COUNTERS both tables count directly: see README.md.

#include <core.p4>
#include <v1model.p4>
#include "../../../programs/common/headers.p4"

const bit<32> LEARN_RECEIVER = 1;

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {
    bit<9> known_port;
}

struct learn_t {
    mac_address_t src_addr;
    bit<9> port;
}

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
#ifdef COUNTERS
    direct_counter(CounterType.packets_and_bytes) per_source;
    direct_counter(CounterType.packets_and_bytes) per_destination;
#endif

    action known(bit<9> port) {
        meta.known_port = port;
    }

    table src_mac {
        key = {
            hdr.ethernet.src_addr: exact;
        }
        actions = {
            known;
            NoAction;
        }
        default_action = NoAction();
#ifdef COUNTERS
        counters = per_source;
#endif
        size = 65536;
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    table dst_mac {
        key = {
            hdr.ethernet.dst_addr: exact;
        }
        actions = {
            forward;
            drop;
        }
        default_action = drop();
#ifdef COUNTERS
        counters = per_destination;
#endif
        size = 65536;
    }

    apply {
        if (src_mac.apply().miss || meta.known_port != standard_metadata.ingress_port) {
            digest<learn_t>(LEARN_RECEIVER, { hdr.ethernet.src_addr, standard_metadata.ingress_port });
        }
        dst_mac.apply();
        if (standard_metadata.egress_spec == standard_metadata.ingress_port) {
            drop();
        }
    }
}

control BridgeEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
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
