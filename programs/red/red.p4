// Random early detection with explicit congestion notification: IPv4 packets that found a long queue are marked with
// congestion experienced (RFC 3168), and dropped when their transport is not capable of ECN or their header has options. Below
// `least` packets none are, from `least + span` on all, in between as many in proportion (RFC 7567). A span of 0 marks at one
// threshold, as DCTCP wants it (RFC 8257).

#include <core.p4>
#include <v1model.p4>
#include "../common/headers.p4"

const bit<2> ECN_NOT_CAPABLE = 0;
const bit<2> ECN_CONGESTION_EXPERIENCED = 3;

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {
    bit<32> least;
    bit<32> span;
}

parser RedParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

// The checksum is computed anew for every packet, which would hide that a header is damaged.
control RedVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control RedIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<9> port, bit<3> priority) {
        standard_metadata.egress_spec = port;
        standard_metadata.priority = priority;
    }

    table routes {
        key = {
            hdr.ipv4.dst_addr: lpm;
        }
        actions = {
            forward;
            drop;
        }
        default_action = drop();
        size = 4096;
    }

    apply {
        if (hdr.ipv4.isValid() && standard_metadata.checksum_error == 0) {
            routes.apply();
        } else {
            drop();
        }
    }
}

control RedEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action mark_from(bit<32> least, bit<32> span) {
        meta.least = least;
        meta.span = span;
    }

    table thresholds {
        key = {
            standard_metadata.egress_port: exact;
        }
        actions = {
            mark_from;
            NoAction;
        }
        default_action = NoAction();
        size = 512;
    }

    apply {
        bit<32> depth = (bit<32>) standard_metadata.enq_qdepth;
        if (thresholds.apply().hit && depth >= meta.least) {
            bit<32> draw;
            random(draw, 0, meta.span);
            if (depth - meta.least >= draw) {
                // The checksum of a header with options, which are not parsed, could not be computed for a mark.
                if (hdr.ipv4.tos[1:0] == ECN_NOT_CAPABLE || hdr.ipv4.ihl != 5) {
                    mark_to_drop(standard_metadata);
                } else {
                    hdr.ipv4.tos[1:0] = ECN_CONGESTION_EXPERIENCED;
                }
            }
        }
    }
}

control RedComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control RedDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(RedParser(), RedVerifyChecksum(), RedIngress(), RedEgress(), RedComputeChecksum(), RedDeparser()) main;
