// IPv4 routing in two steps, for programs whose packets may leave as clones or multicast copies.
//
// Ingress chooses the next hop and the egress port; egress writes the MAC addresses and the TTL, so that a copy that
// was taken before ingress changed anything is forwarded as correctly as the packet itself.

#ifndef COMMON_ROUTING_P4
#define COMMON_ROUTING_P4

// Longest prefix of the destination: next hop and port. No route: dropped.
control Route(in ipv4_t ipv4, inout bit<16> next_hop, inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action to_next_hop(bit<16> next_hop_id, bit<9> port) {
        next_hop = next_hop_id;
        standard_metadata.egress_spec = port;
    }

    table ipv4_lpm {
        key = {
            ipv4.dst_addr: lpm;
        }
        actions = {
            to_next_hop;
            drop;
        }
        default_action = drop();
        size = 1024;
    }

    apply {
        if (ipv4.ttl <= 1) {
            drop();
        } else {
            ipv4_lpm.apply();
        }
    }
}

// The next hop's MAC addresses, one less TTL. An unknown next hop: dropped.
control Rewrite(inout ethernet_t ethernet, inout ipv4_t ipv4, in bit<16> next_hop,
                inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action set_macs(mac_address_t src_addr, mac_address_t dst_addr) {
        ethernet.src_addr = src_addr;
        ethernet.dst_addr = dst_addr;
        ipv4.ttl = ipv4.ttl - 1;
    }

    table next_hops {
        key = {
            next_hop: exact;
        }
        actions = {
            set_macs;
            drop;
        }
        default_action = drop();
        size = 1024;
    }

    apply {
        next_hops.apply();
    }
}

#endif
