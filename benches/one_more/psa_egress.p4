// Routing for PSA whose egress parses the frame again, and decrements the TTL.

#include <core.p4>
#include <psa.p4>
#include "../../programs/common/headers.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {
    bit<32> next_hop;
    bit<1> checksum_error;
}

struct empty_t {}

parser RouterIngressParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                           in psa_ingress_parser_input_metadata_t istd, in empty_t resubmit_meta,
                           in empty_t recirculate_meta) {
    InternetChecksum() checksum;

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
        checksum.clear();
        checksum.add({ hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification,
                       hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr,
                       hdr.ipv4.dst_addr });
        meta.checksum_error = (bit<1>) (hdr.ipv4.ihl == 5 && checksum.get() != hdr.ipv4.hdr_checksum);
        transition accept;
    }
}

control RouterIngress(inout headers_t hdr, inout metadata_t meta, in psa_ingress_input_metadata_t istd,
                      inout psa_ingress_output_metadata_t ostd) {
    action drop() {
        ingress_drop(ostd);
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
        size = 65536;
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
        size = 65536;
    }

    action forward(mac_address_t src_addr, mac_address_t dst_addr, PortId_t port) {
        hdr.ethernet.src_addr = src_addr;
        hdr.ethernet.dst_addr = dst_addr;
        send_to_port(ostd, port);
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
        if (!hdr.ipv4.isValid() || istd.parser_error != error.NoError || meta.checksum_error == 1
            || hdr.ipv4.ttl <= 1) {
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

control RouterIngressDeparser(packet_out packet, out empty_t clone_i2e_meta, out empty_t resubmit_meta,
                              out empty_t normal_meta, inout headers_t hdr, in metadata_t meta,
                              in psa_ingress_output_metadata_t istd) {
    apply {
        packet.emit(hdr);
    }
}

parser RouterEgressParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                          in psa_egress_parser_input_metadata_t istd, in empty_t normal_meta,
                          in empty_t clone_i2e_meta, in empty_t clone_e2e_meta) {
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

control RouterEgress(inout headers_t hdr, inout metadata_t meta, in psa_egress_input_metadata_t istd,
                     inout psa_egress_output_metadata_t ostd) {
    apply {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        }
    }
}

control RouterEgressDeparser(packet_out packet, out empty_t clone_e2e_meta, out empty_t recirculate_meta,
                             inout headers_t hdr, in metadata_t meta, in psa_egress_output_metadata_t istd,
                             in psa_egress_deparser_input_metadata_t edstd) {
    InternetChecksum() checksum;

    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ihl == 5) {
            checksum.clear();
            checksum.add({ hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification,
                           hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr,
                           hdr.ipv4.dst_addr });
            hdr.ipv4.hdr_checksum = checksum.get();
        }
        packet.emit(hdr);
    }
}

IngressPipeline(RouterIngressParser(), RouterIngress(), RouterIngressDeparser()) ingress_pipeline;
EgressPipeline(RouterEgressParser(), RouterEgress(), RouterEgressDeparser()) egress_pipeline;
PSA_Switch(ingress_pipeline, PacketReplicationEngine(), egress_pipeline, BufferingQueueingEngine()) main;
