// A filter between two networks: port 1 is inside, port 2 outside. UDP from outside passes only to destination ports that
// the table `allowed` has, which counts what each of its entries lets in.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> total_len;
    bit<16> identification;
    bit<3> flags;
    bit<13> frag_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> hdr_checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
}

struct metadata_t {}

parser FilterParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0800: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, 17): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition accept;
    }
}

control FilterVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control FilterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) let_in;

    action allow() {
        let_in.count();
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    table allowed {
        key = {
            hdr.udp.dst_port: exact;
        }
        actions = {
            allow;
            @defaultonly drop;
        }
        counters = let_in;
        default_action = drop();
        size = 1024;
    }

    apply {
        if (standard_metadata.ingress_port == 1) {
            standard_metadata.egress_spec = 2;
        } else {
            standard_metadata.egress_spec = 1;
            if (hdr.udp.isValid()) {
                allowed.apply();
            }
        }
    }
}

control FilterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control FilterComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control FilterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(FilterParser(), FilterVerifyChecksum(), FilterIngress(), FilterEgress(), FilterComputeChecksum(),
         FilterDeparser()) main;
