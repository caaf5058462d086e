// Chooses the back end of a connection: the one that it already has, else the one of the Maglev table.
//
// Connections are kept in registers, each in one of two places that hashes of its addresses and ports give. A place holds 48 bits of the hashes,
// the back end, and the time at which it is free again. When other connections have both places, a digest tells the controller, which pins the
// connection in a table.

#ifndef LOAD_BALANCER_CONNECTIONS_P4
#define LOAD_BALANCER_CONNECTIONS_P4

#include "packet.p4"

// A connection without a place in the registers.
struct overflow_t {
    bit<1> is_ipv6;
    ipv6_address_t client;
    ipv6_address_t address;
    bit<8> protocol;
    bit<16> client_port;
    bit<16> service_port;
    bit<16> backend;
}

const bit<32> OVERFLOW_RECEIVER = 1;

// No place is taken for longer: `idle_seconds` has 16 bits. A later time is of the clock before a restart of the switch, which began anew.
const bit<32> LONGEST = 65536;

control ChooseBackend(in headers_t hdr, inout metadata_t meta, in standard_metadata_t standard_metadata, out bool found) {
    // Signature and back end; the time from which the place is free, in units of 2^20 microseconds (1.05 s). 0: never used.
    register<bit<64>>(CONNECTIONS) first_places;
    register<bit<32>>(CONNECTIONS) first_times;
    register<bit<64>>(CONNECTIONS) second_places;
    register<bit<32>>(CONNECTIONS) second_times;
    // 1 for a back end that gets the packets of its connections, whether or not it gets new connections.
    register<bit<1>>(BACKENDS) alive;
    @element_names("new", "known", "moved", "no place", "pinned")
    counter(5, CounterType.packets) connections;

    ipv6_address_t client = 0;
    ipv6_address_t address = 0;
    bit<32> wide_hash = 0;
    bit<16> narrow_hash = 0;
    bit<16> slot = 0;

    action set_backend(bit<16> backend) {
        meta.backend = backend;
    }

    // Written by the controller: for each service the back end of each slot.
    table maglev {
        key = {
            meta.service: exact;
            slot: exact @name("slot");
        }
        actions = {
            set_backend;
            NoAction;
        }
        default_action = NoAction();
        size = 4194304;
    }

    table pinned {
        key = {
            client: exact @name("client");
            address: exact @name("address");
            meta.protocol: exact;
            meta.client_port: exact;
            meta.service_port: exact;
        }
        actions = {
            set_backend;
            NoAction;
        }
        default_action = NoAction();
        support_timeout = true;
        size = 1048576;
    }

    apply {
        // IPv4 addresses become IPv4-mapped ones (RFC 4291 §2.5.5.2). An ICMP error quotes a packet from the service to the client.
        if (hdr.ipv4.isValid()) {
            client = 80w0 ++ 16w0xffff ++ (meta.is_error == 1 ? hdr.inner_ipv4.dst_addr : hdr.ipv4.src_addr);
            address = 80w0 ++ 16w0xffff ++ hdr.ipv4.dst_addr;
            hash(wide_hash, HashAlgorithm.crc32, 32w0,
                 { client[31:0], address[31:0], meta.protocol, meta.client_port, meta.service_port }, 33w0x100000000);
            hash(narrow_hash, HashAlgorithm.crc16, 16w0,
                 { client[31:0], address[31:0], meta.protocol, meta.client_port, meta.service_port }, 17w0x10000);
        } else {
            client = meta.is_error == 1 ? hdr.inner_ipv6.dst_addr : hdr.ipv6.src_addr;
            address = hdr.ipv6.dst_addr;
            hash(wide_hash, HashAlgorithm.crc32, 32w0,
                 { client, address, meta.protocol, meta.client_port, meta.service_port }, 33w0x100000000);
            hash(narrow_hash, HashAlgorithm.crc16, 16w0,
                 { client, address, meta.protocol, meta.client_port, meta.service_port }, 17w0x10000);
        }
        slot = (bit<16>) (wide_hash % SLOTS);
        bit<32> first_place = wide_hash % CONNECTIONS;
        bit<32> second_place = (wide_hash[15:0] ++ wide_hash[31:16] ^ (bit<32>) narrow_hash << 5) % CONNECTIONS;
        bit<48> signature = wide_hash ++ narrow_hash;

        // Without a back end for new connections, those that have one go on.
        found = maglev.apply().hit;
        bit<16> candidate = meta.backend;
        bit<32> now = (bit<32>) (standard_metadata.ingress_global_timestamp >> 20) + 1;
        bit<32> seconds = (bit<32>) meta.idle_seconds;
        if (meta.is_error == 0 && hdr.tcp.isValid()) {
            if (hdr.tcp.fin == 1 || hdr.tcp.rst == 1) {
                seconds = SECONDS_CLOSING;
            } else if (hdr.tcp.syn == 1) {
                seconds = SECONDS_OPENING;
            }
        }
        bit<1> is_alive = 0;
        if (pinned.apply().hit) {
            alive.read(is_alive, (bit<32>) meta.backend);
            if (is_alive == 1) {
                connections.count(CONNECTION_PINNED);
                found = true;
                return;
            }
            meta.backend = candidate;
        }

        bit<1> is_known = 0;
        bit<1> is_kept = 0;
        bit<1> has_moved = 0;
        @atomic {
            bit<64> first;
            bit<64> second;
            bit<32> first_until;
            bit<32> second_until;
            first_places.read(first, first_place);
            first_times.read(first_until, first_place);
            second_places.read(second, second_place);
            second_times.read(second_until, second_place);
            // 0 none, 1 the first, 2 the second.
            bit<2> place = 0;
            if (first_until > now && first[63:16] == signature) {
                place = 1;
                is_known = 1;
                alive.read(is_alive, (bit<32>) first[15:0]);
                if (is_alive == 1) {
                    meta.backend = first[15:0];
                }
            } else if (second_until > now && second[63:16] == signature) {
                place = 2;
                is_known = 1;
                alive.read(is_alive, (bit<32>) second[15:0]);
                if (is_alive == 1) {
                    meta.backend = second[15:0];
                }
            } else if (first_until <= now || first_until - now > LONGEST) {
                place = 1;
            } else if (second_until <= now || second_until - now > LONGEST) {
                place = 2;
            }
            has_moved = is_known & ~is_alive;
            found = found || is_known == 1 && is_alive == 1;
            // An ICMP error neither opens nor prolongs a connection.
            if (found && meta.is_error == 0 && place == 1) {
                first_places.write(first_place, signature ++ meta.backend);
                first_times.write(first_place, now + seconds);
            } else if (found && meta.is_error == 0 && place == 2) {
                second_places.write(second_place, signature ++ meta.backend);
                second_times.write(second_place, now + seconds);
            }
            is_kept = place == 0 ? 1w0 : 1w1;
        }
        if (!found) {
            return;
        }
        if (has_moved == 1) {
            connections.count(CONNECTION_MOVED);
        } else if (is_known == 1) {
            connections.count(CONNECTION_KNOWN);
        } else if (meta.is_error == 0 && is_kept == 1) {
            connections.count(CONNECTION_NEW);
        } else if (meta.is_error == 0) {
            connections.count(CONNECTION_NO_PLACE);
            digest<overflow_t>(OVERFLOW_RECEIVER, { hdr.ipv6.isValid() ? 1w1 : 1w0, client, address, meta.protocol,
                                                    meta.client_port, meta.service_port, meta.backend });
        }
    }
}

#endif
