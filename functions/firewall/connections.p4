// Finds the connection of a packet, and decides whether the packet passes.
//
// A connection is a pair of entries: one for the direction of its first packet, one for the answers. The key of each has the zone from which
// packets must come. The state of a TCP or UDP connection is in a register, at an index that a hash of the first packet gives, with a signature.
//
// Registers are written last: a packet that leaves specialised code passes this control again in general code, and would write them twice.

#ifndef FIREWALL_CONNECTIONS_P4
#define FIREWALL_CONNECTIONS_P4

#include "packet.p4"
#include "policy.p4"
#include "route.p4"
#include "state.p4"

// Digest of a packet that a policy or a rule with `told` 1 has refused.
struct refused_t {
    bit<8> from_zone;
    bit<8> to_zone;
    bit<1> is_ipv6;
    ipv6_address_t source;
    ipv6_address_t destination;
    bit<8> protocol;
    bit<16> source_port;
    bit<16> port;
    bit<8> reason;
}

const bit<32> REFUSED_RECEIVER = 1;

// More than the clocks of two workers may differ, in microseconds.
const bit<48> CLOCKS_APART = 1000000;

control Connections(inout headers_t hdr, inout metadata_t meta, in bit<48> now) {
    Route() route;
    Policy() policy;

    // By place: signature (upper half) and state (lowest byte).
    register<bit<32>>(PLACES) states;
    // By limiter: the time from which the next connection conforms, in microseconds.
    register<bit<48>>(65536) next_times;
    meter(65536, MeterType.bytes) policers;

    bool is_known = false;
    bit<1> is_reply = 0;
    bit<32> place = 0;
    bit<16> signature = 0;
    bit<16> policer = 0;

    bool is_opening = false;
    bit<8> first_expiry = EXPIRY_OTHER;
    bit<8> new_expiry = EXPIRY_AS_IT_IS;
    bit<8> key_zone = 0;
    ipv4_address_t src_ipv4 = 0;
    ipv4_address_t dst_ipv4 = 0;
    ipv6_address_t src_ipv6 = 0;
    ipv6_address_t dst_ipv6 = 0;
    bool is_first_fragment = false;

    // `reply`: 1 in the direction of the answers. `policer_`: the meter of the connection's traffic, 0 for none.
    action known(bit<1> reply, bit<32> place_, bit<16> signature_, bit<16> policer_) {
        if (new_expiry != EXPIRY_AS_IT_IS) {
            set_entry_expire_time(new_expiry);
        }
        is_known = true;
        is_reply = reply;
        place = place_;
        signature = signature_;
        policer = policer_;
    }

    action open_ipv4() {
        if (is_opening) {
            add_entry_pair("known", { 1w0, place, signature, policer }, "connections_ipv4",
                           { meta.to_zone, dst_ipv4, src_ipv4, meta.protocol, meta.dst_port, meta.src_port },
                           "known", { 1w1, place, signature, policer }, first_expiry);
        }
    }

    EXPIRY
    table connections_ipv4 {
        key = {
            key_zone: exact @name("zone");
            src_ipv4: exact @name("source");
            dst_ipv4: exact @name("destination");
            meta.protocol: exact @name("protocol");
            meta.src_port: exact @name("source_port");
            meta.dst_port: exact @name("port");
        }
        actions = {
            known;
            @defaultonly open_ipv4;
        }
        const default_action = open_ipv4();
        add_on_miss = true;
        size = 2 * CONNECTIONS;
    }

    action open_ipv6() {
        if (is_opening) {
            add_entry_pair("known", { 1w0, place, signature, policer }, "connections_ipv6",
                           { meta.to_zone, dst_ipv6, src_ipv6, meta.protocol, meta.dst_port, meta.src_port },
                           "known", { 1w1, place, signature, policer }, first_expiry);
        }
    }

    EXPIRY
    table connections_ipv6 {
        key = {
            key_zone: exact @name("zone");
            src_ipv6: exact @name("source");
            dst_ipv6: exact @name("destination");
            meta.protocol: exact @name("protocol");
            meta.src_port: exact @name("source_port");
            meta.dst_port: exact @name("port");
        }
        actions = {
            known;
            @defaultonly open_ipv6;
        }
        const default_action = open_ipv6();
        add_on_miss = true;
        size = 2 * CONNECTIONS;
    }

    action is_of_known(bit<16> policer_) {
        if (!is_first_fragment) {
            policer = policer_;
        }
    }

    action note_fragment() {
        if (is_first_fragment) {
            add_entry("is_of_known", { policer }, EXPIRY_FRAGMENT);
        }
    }

    // Datagrams whose first fragment has passed.
    EXPIRY
    table fragments {
        key = {
            meta.from_zone: exact @name("zone");
            hdr.ipv4.src_addr: exact @name("source");
            hdr.ipv4.dst_addr: exact @name("destination");
            hdr.ipv4.identification: exact @name("identification");
            hdr.ipv4.protocol: exact @name("protocol");
        }
        actions = {
            is_of_known;
            @defaultonly note_fragment;
        }
        const default_action = note_fragment();
        add_on_miss = true;
        size = 65536;
    }

    apply {
        bool is_ipv4 = hdr.ipv4.isValid();
        way_t way;
        route.apply(is_ipv4, hdr.ipv4.dst_addr, hdr.ipv6.dst_addr, way);
        meta.to_zone = way.zone;
        bit<8> hops = is_ipv4 ? hdr.ipv4.ttl : hdr.ipv6.hop_limit;
        if (way.zone == 0) {
            meta.dropped = DROP_NO_ROUTE;
        } else if (way.zone == SELF_ZONE) {
            meta.dropped = DROP_OWN_ADDRESS;
            meta.is_to_self = 1;
        } else if (hops <= 1) {
            meta.dropped = DROP_HOP_LIMIT;
        } else if (meta.ip_bytes > way.mtu) {
            meta.dropped = DROP_TOO_LONG;
        } else if (hdr.tcp.isValid() && has_wrong_flags(hdr.tcp)) {
            meta.dropped = DROP_TCP_FLAGS;
        }

        bit<8> state = STATE_LOST;
        bit<8> next_state = STATE_LOST;
        bool is_stateful = false;
        terms_t terms = { 0, 0, 0, 0, 0 };
        bit<48> next_time = 0;

        if (meta.dropped != DROP_NONE) {
            is_known = false;
        } else if (meta.kind == KIND_LATER_FRAGMENT) {
            // A fragment at the second eight bytes would overwrite the flags of TCP (RFC 1858 §4.2).
            bool overwrites_flags = is_ipv4 && hdr.ipv4.protocol == IP_PROTOCOL_TCP && hdr.ipv4.frag_offset == 1;
            if (!is_ipv4 || overwrites_flags || !fragments.apply().hit) {
                meta.dropped = DROP_FRAGMENT;
            }
        } else {
            // The packet that an ICMP error quotes came from the zone to which the error goes.
            bool is_error = meta.kind == KIND_ERROR;
            key_zone = is_error ? meta.to_zone : meta.from_zone;
            bool is_misaddressed = false;
            if (is_ipv4) {
                src_ipv4 = is_error ? hdr.inner_ipv4.src_addr : hdr.ipv4.src_addr;
                dst_ipv4 = is_error ? hdr.inner_ipv4.dst_addr : hdr.ipv4.dst_addr;
                is_misaddressed = is_error && src_ipv4 != hdr.ipv4.dst_addr;
                connections_ipv4.apply();
            } else {
                src_ipv6 = is_error ? hdr.inner_ipv6.src_addr : hdr.ipv6.src_addr;
                dst_ipv6 = is_error ? hdr.inner_ipv6.dst_addr : hdr.ipv6.dst_addr;
                is_misaddressed = is_error && src_ipv6 != hdr.ipv6.dst_addr;
                connections_ipv6.apply();
            }
            is_stateful = !is_error && (hdr.tcp.isValid() || hdr.udp.isValid());
            if (is_known && is_stateful) {
                bit<32> stored;
                states.read(stored, place);
                if (stored[31:16] == signature) {
                    state = stored[7:0];
                }
            }
            // A connection that has ended may begin again, as a new one.
            bool begins = hdr.tcp.isValid() && hdr.tcp.syn == 1 && hdr.tcp.ack == 0;
            bool is_new = !is_known || (state == STATE_CLOSED && begins && is_reply == 0);
            bool may_begin = hdr.tcp.isValid() ? begins
                : (meta.kind == KIND_REQUEST || meta.kind == KIND_OTHER || hdr.udp.isValid());
            if (is_error) {
                // The quoted packet went to the zone from which the error comes.
                way_t way_there;
                route.apply(is_ipv4, dst_ipv4, dst_ipv6, way_there);
                if (!is_known || is_misaddressed || way_there.zone != meta.from_zone) {
                    meta.dropped = DROP_UNRELATED_ERROR;
                }
            } else if (is_new) {
                way_t way_back;
                route.apply(is_ipv4, hdr.ipv4.src_addr, hdr.ipv6.src_addr, way_back);
                bit<2> verdict;
                policy.apply(hdr, meta, verdict, terms);
                if (terms.limiter != 0) {
                    next_times.read(next_time, (bit<32>) terms.limiter);
                    // No connection leaves a later time: it is of the clock before a restart, which began anew.
                    if (next_time > now + (bit<48>) terms.burst + (bit<48>) terms.interval + CLOCKS_APART) {
                        next_time = 0;
                    }
                }
                // Checked for new connections only: no known one has such an address.
                bool has_wrong_address = is_ipv4
                    ? is_never_forwarded_ipv4(hdr.ipv4.src_addr) || is_never_forwarded_ipv4(hdr.ipv4.dst_addr)
                    : is_never_forwarded_ipv6(hdr.ipv6.src_addr) || is_never_forwarded_ipv6(hdr.ipv6.dst_addr);
                if (has_wrong_address) {
                    meta.dropped = DROP_ADDRESS;
                } else if (!may_begin) {
                    meta.dropped = DROP_NO_CONNECTION;
                } else if (way_back.zone != meta.from_zone) {
                    meta.dropped = DROP_SPOOFED;
                } else if (verdict == VERDICT_REJECT) {
                    meta.dropped = DROP_REJECTED;
                    meta.is_rejected = 1;
                } else if (verdict != VERDICT_ALLOW) {
                    meta.dropped = DROP_POLICY;
                } else if (next_time > now + (bit<48>) terms.burst) {
                    meta.dropped = DROP_LIMITED;
                }
                if (terms.is_told == 1 && (meta.dropped == DROP_POLICY || meta.dropped == DROP_REJECTED)) {
                    digest<refused_t>(REFUSED_RECEIVER, { meta.from_zone, meta.to_zone, is_ipv4 ? 1w0 : 1w1,
                        is_ipv4 ? 96w0 ++ src_ipv4 : src_ipv6, is_ipv4 ? 96w0 ++ dst_ipv4 : dst_ipv6, meta.protocol,
                        meta.src_port, meta.dst_port, meta.dropped });
                }
                if (meta.dropped == DROP_NONE) {
                    next_state = STATE_OPENING;
                    policer = terms.policer;
                    if (!is_known) {
                        first_expiry = hdr.tcp.isValid() ? EXPIRY_TCP_OPENING : (hdr.udp.isValid() ? EXPIRY_UDP_OPENING
                            : (meta.kind == KIND_REQUEST ? EXPIRY_ICMP : EXPIRY_OTHER));
                        hash(place, HashAlgorithm.crc32, 32w0, { src_ipv4, dst_ipv4, src_ipv6, dst_ipv6, meta.protocol,
                                                                 meta.src_port, meta.dst_port }, 33w0x100000000);
                        hash(signature, HashAlgorithm.crc16, 16w0, { src_ipv4, dst_ipv4, src_ipv6, dst_ipv6, meta.protocol,
                                                                     meta.src_port, meta.dst_port }, 17w0x10000);
                        signature = signature | 1;
                        place = place % PLACES;
                        is_opening = true;
                        if (is_ipv4) {
                            connections_ipv4.apply();
                        } else {
                            connections_ipv6.apply();
                        }
                    }
                }
            } else if (hdr.tcp.isValid()) {
                next_state = state_after_segment(state, is_reply, hdr.tcp);
                if (next_state == STATE_INVALID) {
                    meta.dropped = DROP_TCP_STATE;
                }
            } else if (hdr.udp.isValid()) {
                next_state = state == STATE_OPENING && is_reply == 1 ? STATE_REPLIED : state;
            } else if (meta.kind == KIND_REQUEST && is_reply == 1 || meta.kind == KIND_REPLY && is_reply == 0) {
                meta.dropped = DROP_NO_CONNECTION;
            }
            if (meta.dropped == DROP_NONE && !is_new && next_state != state) {
                new_expiry = expiry_of(next_state);
                if (new_expiry != EXPIRY_AS_IT_IS && is_ipv4) {
                    connections_ipv4.apply();
                } else if (new_expiry != EXPIRY_AS_IT_IS) {
                    connections_ipv6.apply();
                }
            }
            if (meta.dropped == DROP_NONE && is_ipv4 && hdr.ipv4.more_fragments == 1) {
                is_first_fragment = true;
                fragments.apply();
            }
        }
        if (meta.is_rejected == 1) {
            resubmit_preserving_field_list(AGAIN);
        }

        if (meta.dropped == DROP_NONE) {
            hdr.ethernet.src_addr = way.src_mac;
            hdr.ethernet.dst_addr = way.dst_mac;
            meta.egress_port = way.port;
            if (is_stateful && next_state != state) {
                states.write(place, signature ++ 8w0 ++ next_state);
            }
            if (terms.limiter != 0) {
                bit<48> from = next_time > now ? next_time : now;
                next_times.write((bit<32>) terms.limiter, from + (bit<48>) terms.interval);
            }
            if (policer != 0) {
                bit<2> color;
                policers.execute_meter<bit<2>>((bit<32>) policer, color);
                if (color == V1MODEL_METER_COLOR_RED) {
                    meta.dropped = DROP_POLICED;
                }
            }
        }
    }
}

#endif
