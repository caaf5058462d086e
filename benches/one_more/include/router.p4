// IPv4 routing as in programs/l3fwd, with one thing more, which a macro chooses: see README.md.

#include <core.p4>
#include <v1model.p4>
#include "../../../programs/common/headers.p4"

const bit<16> ETHERTYPE_SHIM = 0x88B5;
const bit<32> CLONE_SESSION = 1;
const bit<32> LEARN_RECEIVER = 1;

// What a packet carries in front of its IPv4 header with LENGTH.
header shim_t {
    bit<32> length_;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
    shim_t shim;
    ipv4_t ipv4;
}

struct metadata_t {
    bit<32> next_hop;
}

// Told to the control plane.
struct seen_t {
    ipv4_address_t src_addr;
    bit<9> port;
}

parser RouterParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
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

control RouterVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control RouterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
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
#ifdef PRIORITY
        standard_metadata.priority = hdr.ipv4.tos[7:5];
#endif
#ifdef LENGTH
        hdr.shim.setValid();
        hdr.shim.ether_type = hdr.ethernet.ether_type;
        hdr.ethernet.ether_type = ETHERTYPE_SHIM;
#endif
#ifdef LOOP
        bit<8> parity = 0;
        for (bit<8> round = 0; round < 4; round = round + 1) {
            parity = parity ^ (hdr.ipv4.src_addr[7:0] >> round);
        }
        hdr.ipv4.identification[7:0] = parity;
#endif
#ifdef RANDOM
        bit<16> number;
        random<bit<16>>(number, 0, 999);
        hdr.ipv4.identification = number;
#endif
#ifdef RARE_CLONE
        if (hdr.ipv4.identification == 0xFFFF) {
            clone(CloneType.I2E, CLONE_SESSION);
        }
#endif
#ifdef RARE_DIGEST
        if (hdr.ipv4.identification == 0xFFFF) {
            digest<seen_t>(LEARN_RECEIVER, { hdr.ipv4.src_addr, standard_metadata.ingress_port });
        }
#endif
#ifdef EVERY_CLONE
        clone(CloneType.I2E, CLONE_SESSION);
#endif
#ifdef EVERY_DIGEST
        digest<seen_t>(LEARN_RECEIVER, { hdr.ipv4.src_addr, standard_metadata.ingress_port });
#endif
    }
}

control RouterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
#ifdef EGRESS_REGISTER
    register<bit<32>>(65536) last_source;
#endif

    apply {
#ifdef LENGTH
        hdr.shim.length_ = standard_metadata.packet_length;
#endif
#ifdef DEPTH
        hdr.ipv4.identification = standard_metadata.enq_qdepth[15:0];
#endif
#ifdef EGRESS_REGISTER
        last_source.write((bit<32>) hdr.ipv4.dst_addr[15:0], hdr.ipv4.src_addr);
#endif
#ifdef RARE_EGRESS_CLONE
        if (hdr.ipv4.identification == 0xFFFF && standard_metadata.instance_type == 0) {
            clone(CloneType.E2E, CLONE_SESSION);
        }
#endif
#ifdef EVERY_EGRESS_CLONE
        if (standard_metadata.instance_type == 0) {
            clone(CloneType.E2E, CLONE_SESSION);
        }
#endif
    }
}

control RouterComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control RouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.shim);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(RouterParser(), RouterVerifyChecksum(), RouterIngress(), RouterEgress(), RouterComputeChecksum(),
         RouterDeparser()) main;
