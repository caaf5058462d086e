// The route of an address.

#ifndef NAT44_ROUTE_P4
#define NAT44_ROUTE_P4

#include "packet.p4"

// What a route says: where it leads, by which port, with which MAC addresses, and the MTU there.
struct way_t {
    bit<3> kind;
    bit<9> port;
    mac_address_t src_mac;
    mac_address_t dst_mac;
    bit<16> mtu;
}

control Route(in ipv4_address_t addr, out way_t way) {
    // `kind`: TO_OUTSIDE (1), TO_OUTSIDE_UNTRANSLATED (2) or TO_INSIDE (3).
    action to_port(bit<3> kind, bit<9> port, mac_address_t src_mac, mac_address_t dst_mac, bit<16> mtu) {
        way = { kind, port, src_mac, dst_mac, mtu };
    }

    // External addresses of mappings.
    action to_pool() {
        way.kind = TO_POOL;
    }

    // Addresses of the NAT itself, which answers pings.
    action to_self() {
        way.kind = TO_SELF;
    }

    action to_nowhere() {
        way.kind = TO_NOWHERE;
    }

    table routes {
        key = {
            addr: lpm @name("destination");
        }
        actions = {
            to_port;
            to_pool;
            to_self;
            @defaultonly to_nowhere;
        }
        default_action = to_nowhere();
        size = 65536;
    }

    apply {
        way = { TO_NOWHERE, 0, 0, 0, 0 };
        routes.apply();
    }
}

#endif
