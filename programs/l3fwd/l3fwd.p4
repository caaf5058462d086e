// IPv4 routing in three tables: the source MAC address must be one of those allowed (exact), the destination address
// gives the next hop (longest prefix), the next hop gives MAC addresses and port (exact). TTL and header checksum are
// verified and updated (RFC 1812 §5.2).

#include <core.p4>
#include <v1model.p4>
#include "../common/headers.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {
    bit<32> next_hop;
}

parser L3Parser(packet_in packet, out headers_t hdr, inout metadata_t meta,
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
        verify(hdr.ipv4.version == 4 && hdr.ipv4.ihl >= 5, error.ParserInvalidArgument);
        transition accept;
    }
}

control L3VerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        // Options follow in the payload; a header that has some is verified by its receiver.
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control L3Ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    table src_mac {
        key = {
            hdr.ethernet.src_addr: exact;
        }
        actions = {
            NoAction;
            drop;
        }
        default_action = drop();
        size = 1048576;
    }

    action set_next_hop(bit<32> next_hop) {
        meta.next_hop = next_hop;
    }

    table ipv4_lpm {
        key = {
            hdr.ipv4.dst_addr: lpm;
        }
        actions = {
            set_next_hop;
            drop;
        }
        default_action = drop();
        size = 1048576;
    }

    action forward(mac_address_t src_addr, mac_address_t dst_addr, bit<9> port) {
        hdr.ethernet.src_addr = src_addr;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        standard_metadata.egress_spec = port;
    }

    table next_hops {
        key = {
            meta.next_hop: exact;
        }
        actions = {
            forward;
            drop;
        }
        default_action = drop();
        size = 65536;
    }

    apply {
        if (!hdr.ipv4.isValid() || standard_metadata.parser_error != error.NoError
            || standard_metadata.checksum_error == 1 || hdr.ipv4.ttl <= 1) {
            drop();
            return;
        }
        if (src_mac.apply().hit) {
            if (ipv4_lpm.apply().hit) {
                next_hops.apply();
            }
        }
    }
}

control L3Egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        // The options of a header that has some are not parsed: its checksum is not computed anew but changed by what one
        // less TTL changes (RFC 1624, equation 3).
        if (hdr.ipv4.isValid() && hdr.ipv4.ihl != 5) {
            bit<17> sum = (bit<17>) (~hdr.ipv4.hdr_checksum) + 17w0xFEFF;
            hdr.ipv4.hdr_checksum = ~(sum[15:0] + (bit<16>) sum[16:16]);
        }
    }
}

control L3ComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control L3Deparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(L3Parser(), L3VerifyChecksum(), L3Ingress(), L3Egress(), L3ComputeChecksum(), L3Deparser()) main;
