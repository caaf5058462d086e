// The next hop of a packet, and its zone.

#ifndef FIREWALL_ROUTE_P4
#define FIREWALL_ROUTE_P4

#include "packet.p4"

// Zone 0: no route. SELF_ZONE: the firewall itself.
const bit<8> SELF_ZONE = 255;

struct way_t {
    bit<8> zone;
    bit<9> port;
    mac_address_t src_mac;
    mac_address_t dst_mac;
    bit<16> mtu;
}

control Route(in bool is_ipv4, in ipv4_address_t ipv4, in ipv6_address_t ipv6, out way_t way) {
    action to_port(bit<8> zone, bit<9> port, mac_address_t src_mac, mac_address_t dst_mac, bit<16> mtu) {
        way = { zone, port, src_mac, dst_mac, mtu };
    }

    action to_self() {
        way.zone = SELF_ZONE;
    }

    table routes_ipv4 {
        key = {
            ipv4: lpm @name("destination");
        }
        actions = {
            to_port;
            to_self;
            NoAction;
        }
        default_action = NoAction();
        size = 65536;
    }

    table routes_ipv6 {
        key = {
            ipv6: lpm @name("destination");
        }
        actions = {
            to_port;
            to_self;
            NoAction;
        }
        default_action = NoAction();
        size = 65536;
    }

    apply {
        way = { 0, 0, 0, 0, 0 };
        if (is_ipv4) {
            routes_ipv4.apply();
        } else {
            routes_ipv6.apply();
        }
    }
}

#endif
