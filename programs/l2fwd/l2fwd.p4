// Layer-2 forwarding with two exact-match tables, as an Ethernet bridge has them: the source address must be known on
// the port it comes from (otherwise a digest tells the control plane to learn it), the destination address gives the port
// (otherwise the frame is flooded to the multicast group of its ingress port).

#include <core.p4>
#include <v1model.p4>
#include "../common/headers.p4"

// The multicast group that floods what arrives on port p is FIRST_FLOOD_GROUP + p.
const bit<16> FIRST_FLOOD_GROUP = 1;

// Receiver of the digests, as v1model numbers them.
const bit<32> LEARN_RECEIVER = 1;

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {
    // The port that the source address was last learnt on.
    bit<9> known_port;
}

// The digest of a source address that is unknown or has moved.
struct learn_t {
    mac_address_t src_addr;
    bit<9> port;
}

parser L2Parser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control L2VerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control L2Ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
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
#ifdef AGEING
        // The control plane gets idle notifications of addresses without frames.
        support_timeout = true;
#endif
        size = 1048576;
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action flood() {
        standard_metadata.mcast_grp = FIRST_FLOOD_GROUP + (bit<16>) standard_metadata.ingress_port;
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
            flood;
            drop;
        }
        default_action = flood();
        size = 1048576;
    }

    apply {
        if (!hdr.ethernet.isValid()) {
            drop();
            return;
        }
        if (src_mac.apply().miss || meta.known_port != standard_metadata.ingress_port) {
            digest<learn_t>(LEARN_RECEIVER, { hdr.ethernet.src_addr, standard_metadata.ingress_port });
        }
        dst_mac.apply();
        // A bridge never sends a frame back to where it came from.
        if (standard_metadata.mcast_grp == 0 && standard_metadata.egress_spec == standard_metadata.ingress_port) {
            drop();
        }
    }
}

control L2Egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control L2ComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control L2Deparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(L2Parser(), L2VerifyChecksum(), L2Ingress(), L2Egress(), L2ComputeChecksum(), L2Deparser()) main;
