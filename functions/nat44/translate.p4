// Mappings and filters: the endpoints that a packet gets. All entries but those of the controller are learnt here.
//
//   outbound   inside endpoint ─► external endpoint ─┐ a pair: they end together
//   inbound    external endpoint ─► inside endpoint ─┘
//   filters    inside endpoint, endpoint outside       with filtering
//   fragments  a datagram ─► addresses                 from its first fragment
//
// A new mapping gets the first port tried that `inbound` does not have: the look-up that misses adds the entries. If the port is taken, the
// packet is resubmitted for the next attempt, so that specialised code has one attempt and no loop.
//
// Registers are written last: a packet that leaves specialised code passes this control again in general code, and would write them twice.

#ifndef NAT44_TRANSLATE_P4
#define NAT44_TRANSLATE_P4

#include "packet.p4"
#include "blocks.p4"
#include "route.p4"
#include "tcp.p4"

// Digest of a new mapping, sent if `behaviour` has `tells_mappings` 1.
struct mapping_t {
    bit<8> protocol;
    ipv4_address_t inside_addr;
    bit<16> inside_port;
    ipv4_address_t external_addr;
    bit<16> external_port;
}

// Digest of a refused mapping: `reason` is an index of the counter drops.
struct refusal_t {
    ipv4_address_t inside_addr;
    bit<8> reason;
}

const bit<32> MAPPING_RECEIVER = 2;
const bit<32> REFUSAL_RECEIVER = 3;

// Blocks and ports that are tried for a new mapping.
const bit<8> PORT_ATTEMPTS = 16;

control Translate(inout headers_t hdr, inout metadata_t meta, in bit<48> timestamp) {
    FindPool() find_pool;
    FindBlock() find_block;
    Route() route;

    register<bit<8>>(ADDRESSES * 65536) tcp_states;
    register<bit<48>>(ADDRESSES * 65536) tcp_remotes;
    // How many blocks have been tried for subscribers, and how many ports of each block for mappings.
    register<bit<32>>(1) block_turns;
    register<bit<16>>(BLOCKS) port_turns;
    // When blocks and ports were looked up; ports of TCP, UDP and ICMP.
    register<bit<32>>(BLOCKS) block_looks;
    register<bit<32>>(3 * ADDRESSES * 65536) port_looks;
    // An entry of `fragments` cannot be changed: a datagram that has the identification of another one gets the next turn. By a hash of its key.
    register<bit<8>>(65536) fragment_turns;

    bit<2> filter_mode = FILTER_NONE;
    bit<1> tells = 0;
    bit<32> port_secret = 0;

    bit<8> mapping_expiry = EXPIRY_UDP;
    bit<8> outbound_expiry = EXPIRY_AS_IT_IS;
    bit<8> inbound_expiry = EXPIRY_AS_IT_IS;

    way_t way = { 0, 0, 0, 0, 0 };
    block_of_ports_t block = { false, false, 0, 0, 0 };
    bit<8> refusal = DROP_NONE;

    endpoint_t external = { 0, 0 };
    bool is_probing = false;
    bool has_outbound_slot = false;
    bool has_inbound_slot = false;
    bit<16> outbound_index = 0;
    bit<16> inbound_index = 0;

    bool is_opening_filter = false;
    bit<8> filter_expiry = EXPIRY_UDP;
    endpoint_t filtered = { 0, 0 };
    endpoint_t remote = { 0, 0 };
    bool is_first_fragment = false;
    bool is_of_other = false;
    bit<8> fragment_turn = 0;

    // `filtering`: what lets packets from outside in. `tells_mappings`: a digest for each mapping. `secret` makes ports hard to guess.
    action set_behaviour(bit<2> filtering, bit<1> tells_mappings, bit<32> secret) {
        filter_mode = filtering;
        tells = tells_mappings;
        port_secret = secret;
    }

    table behaviour {
        actions = {
            set_behaviour;
        }
        default_action = set_behaviour(0, 0, 0);
    }

    action translate(bit<16> index, ipv4_address_t addr, bit<16> port) {
        if (outbound_expiry != EXPIRY_AS_IT_IS) {
            set_entry_expire_time(outbound_expiry);
        }
        has_outbound_slot = true;
        outbound_index = index;
        meta.source_changes = 1;
        meta.new_source = { addr, port };
    }

    // An entry of the controller: permanent, without a TCP state.
    action translate_static(ipv4_address_t addr, bit<16> port) {
        meta.source_changes = 1;
        meta.new_source = { addr, port };
    }

    EXPIRY
    table outbound {
        key = {
            meta.protocol: exact @name("protocol");
            meta.source.addr: exact @name("inside");
            meta.source.port: exact @name("port");
        }
        actions = {
            translate;
            translate_static;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        add_on_miss = true;
        size = MAPPINGS;
    }

    action deliver(bit<16> index, ipv4_address_t addr, bit<16> port) {
        if (!is_probing) {
            if (inbound_expiry != EXPIRY_AS_IT_IS) {
                set_entry_expire_time(inbound_expiry);
            }
            has_inbound_slot = true;
            inbound_index = index;
            meta.destination_changes = 1;
            meta.new_destination = { addr, port };
        }
    }

    action deliver_static(ipv4_address_t addr, bit<16> port) {
        if (!is_probing) {
            meta.destination_changes = 1;
            meta.new_destination = { addr, port };
        }
    }

    action map() {
        if (is_probing) {
            add_entry_pair("deliver", { block.index, meta.source.addr, meta.source.port },
                           "outbound", { meta.protocol, meta.source.addr, meta.source.port },
                           "translate", { block.index, external.addr, external.port }, mapping_expiry);
            if (tells == 1) {
                digest<mapping_t>(MAPPING_RECEIVER, { meta.protocol, meta.source.addr, meta.source.port, external.addr,
                                                      external.port });
            }
            outbound_index = block.index;
            meta.source_changes = 1;
            meta.new_source = external;
        }
    }

    EXPIRY
    table inbound {
        key = {
            meta.protocol: exact @name("protocol");
            external.addr: exact @name("external");
            external.port: exact @name("port");
        }
        actions = {
            deliver;
            deliver_static;
            @defaultonly map;
        }
        const default_action = map();
        add_on_miss = true;
        size = MAPPINGS;
    }

    action is_open() {}

    action open_filter() {
        if (is_opening_filter) {
            add_entry("is_open", {}, filter_expiry);
        }
    }

    // The endpoints outside that an inside endpoint has sent to: port 0 with address-dependent filtering and for ICMP queries.
    EXPIRY
    table filters {
        key = {
            meta.protocol: exact @name("protocol");
            filtered.addr: exact @name("inside");
            filtered.port: exact @name("port");
            remote.addr: exact @name("remote");
            remote.port: exact @name("remote_port");
        }
        actions = {
            is_open;
            @defaultonly open_filter;
        }
        const default_action = open_filter();
        add_on_miss = true;
        size = MAPPINGS;
    }

    action fragment_of(bit<1> source_changes, ipv4_address_t source, bit<1> destination_changes, ipv4_address_t destination) {
        // A first fragment whose datagram is known has its own endpoints.
        if (is_first_fragment) {
            is_of_other = source_changes != meta.source_changes || source != meta.new_source.addr
                || destination_changes != meta.destination_changes || destination != meta.new_destination.addr;
        } else {
            meta.source_changes = source_changes;
            meta.new_source = { source, 0 };
            meta.destination_changes = destination_changes;
            meta.new_destination = { destination, 0 };
        }
    }

    action note_fragment() {
        if (is_first_fragment) {
            add_entry("fragment_of", { meta.source_changes, meta.new_source.addr, meta.destination_changes,
                                       meta.new_destination.addr }, EXPIRY_FRAGMENT);
        }
    }

    EXPIRY
    table fragments {
        key = {
            hdr.ipv4.src_addr: exact @name("source");
            hdr.ipv4.dst_addr: exact @name("destination");
            hdr.ipv4.identification: exact @name("identification");
            hdr.ipv4.protocol: exact @name("protocol");
            fragment_turn: exact @name("turn");
        }
        actions = {
            fragment_of;
            @defaultonly note_fragment;
        }
        const default_action = note_fragment();
        add_on_miss = true;
        size = 65536;
    }

    apply {
        route.apply(hdr.ipv4.dst_addr, way);
        if (way.kind == TO_NOWHERE) {
            meta.dropped = DROP_NO_ROUTE;
        } else if (way.kind == TO_SELF) {
            meta.dropped = DROP_OWN_ADDRESS;
            meta.is_to_self = 1;
        } else if (hdr.ipv4.ttl <= 1) {
            meta.dropped = DROP_TTL;
            meta.error_type = ICMP_TIME_EXCEEDED;
        } else if (meta.realm == REALM_OUTSIDE && way.kind != TO_POOL) {
            // Only answers to packets that left untranslated.
            bool is_inside = way.kind == TO_INSIDE;
            route.apply(hdr.ipv4.src_addr, way);
            if (!is_inside || way.kind != TO_OUTSIDE_UNTRANSLATED) {
                meta.dropped = DROP_NO_MAPPING;
            }
            route.apply(hdr.ipv4.dst_addr, way);
        }
        behaviour.apply();
        bool goes_out = meta.realm == REALM_INSIDE && (way.kind == TO_OUTSIDE || way.kind == TO_POOL);
        bool comes_in = way.kind == TO_POOL;
        bit<8> outbound_state = TCP_NEW;
        bit<8> next_outbound_state = TCP_NEW;
        bit<8> inbound_state = TCP_NEW;
        bit<8> next_inbound_state = TCP_NEW;
        bool is_new = false;
        bit<32> block_turn = 0;
        bit<16> port_turn = 0;
        bit<32> block_number = 0;
        bool is_block_looked_up = false;
        bool is_port_looked_up = false;
        bit<32> port_slot = 0;
        bit<32> now = look_time(timestamp);
        bit<48> tcp_remote = meta.destination.addr ++ meta.destination.port;
        bit<16> fragment_place = 0;
        bool has_next_turn = false;
        if (hdr.ipv4.more_fragments == 1 || meta.kind == KIND_LATER_FRAGMENT) {
            hash(fragment_place, HashAlgorithm.crc16, 16w0, { hdr.ipv4.src_addr, hdr.ipv4.dst_addr,
                                                              hdr.ipv4.identification, hdr.ipv4.protocol }, 17w0x10000);
            fragment_turns.read(fragment_turn, (bit<32>) fragment_place);
        }

        if (meta.dropped != DROP_NONE) {
            goes_out = false;
            comes_in = false;
        } else if (meta.kind == KIND_LATER_FRAGMENT) {
            if ((goes_out || comes_in) && !fragments.apply().hit) {
                meta.dropped = DROP_FRAGMENT_EARLY;
            }
            goes_out = false;
            comes_in = false;
        }

        if (goes_out) {
            bool may_map = meta.kind == KIND_FLOW || (meta.kind == KIND_REQUEST && !comes_in);
            if (!may_map && meta.kind != KIND_ERROR) {
                meta.dropped = DROP_PROTOCOL;
            } else {
                is_new = !outbound.apply().hit;
            }
            if (may_map) {
                bool tries = false;
                bit<16> index = 0;
                bit<16> base = 0;
                bit<16> first = 0;
                bit<16> count = 0;
                if (is_new) {
                    find_pool.apply(meta.source.addr, first, count);
                    if (count != 0) {
                        block_turns.read(block_turn, 0);
                        choose_block(block_turn, first, count, port_secret, index, base);
                        bit<32> last;
                        block_looks.read(last, (bit<32>) (index ++ base) >> BLOCK_BITS);
                        tries = may_look(now, last, BLOCK_SECONDS);
                    }
                }
                find_block.apply(meta.source.addr, tries, index, base, block);
                is_block_looked_up = tries && (block.is_new || !block.is_known);
                if (is_new && !block.is_known) {
                    refusal = count == 0 ? DROP_NO_POOL : DROP_NO_BLOCK;
                }
            }
            if (refusal == DROP_NO_BLOCK) {
                meta.attempt = meta.attempt + 1;
                meta.is_trying = meta.attempt < BLOCK_ATTEMPTS ? 1w1 : 1w0;
            }
            if (is_new && !may_map) {
                meta.dropped = DROP_UNRELATED_ERROR;
            } else if (is_new) {
                if (refusal == DROP_NONE) {
                    mapping_expiry = meta.protocol == IP_PROTOCOL_TCP ? EXPIRY_TCP_TRANSITORY
                        : (meta.protocol == IP_PROTOCOL_ICMP ? EXPIRY_ICMP : EXPIRY_UDP);
                    external.addr = block.addr;
                    // The least bit stays: an even port gets an even one (RFC 4787 REQ-4).
                    block_number = (bit<32>) (block.index ++ block.base) >> BLOCK_BITS;
                    port_turns.read(port_turn, block_number);
                    bit<16> scramble;
                    hash(scramble, HashAlgorithm.crc16, 16w0, { block.base, port_secret }, 17w0x10000);
                    bit<16> spread = (((port_turn << 1) ^ scramble) & 0xfffe) | (meta.source.port & 1);
                    external.port = block.base | (spread & BLOCK_MASK);
                    bit<32> last;
                    bit<8> state = TCP_NEW;
                    bit<32> slot = block.index ++ external.port;
                    bit<32> seconds = UDP_SECONDS;
                    port_slot = slot + ADDRESSES * 65536;
                    if (meta.protocol == IP_PROTOCOL_TCP) {
                        port_slot = slot;
                        tcp_states.read(state, slot);
                        seconds = tcp_is_lasting(state) ? 32w0 + TCP_ESTABLISHED_SECONDS : 32w0 + TCP_TRANSITORY_SECONDS;
                    } else if (meta.protocol == IP_PROTOCOL_ICMP) {
                        port_slot = slot + 2 * ADDRESSES * 65536;
                        seconds = ICMP_SECONDS;
                    }
                    port_looks.read(last, port_slot);
                    is_port_looked_up = may_look(now, last, seconds);
                    is_probing = true;
                    if (!is_port_looked_up || inbound.apply().hit) {
                        meta.attempt = meta.attempt + 1;
                        meta.is_trying = meta.attempt < PORT_ATTEMPTS ? 1w1 : 1w0;
                        refusal = DROP_NO_PORT;
                    }
                    is_probing = false;
                }
                meta.dropped = refusal;
                if (refusal != DROP_NONE && meta.is_trying == 0) {
                    // RFC 6888 REQ-11.
                    meta.error_type = ICMP_UNREACHABLE;
                    meta.error_code = ICMP_HOST_UNREACHABLE;
                    digest<refusal_t>(REFUSAL_RECEIVER, { meta.source.addr, refusal });
                }
            }
            if (hdr.tcp.isValid() && has_outbound_slot) {
                bit<32> slot = outbound_index ++ meta.new_source.port;
                bool is_known = false;
                tcp_states.read(outbound_state, slot);
                if (tcp_may_change(outbound_state, hdr.tcp)) {
                    bit<48> known_remote;
                    tcp_remotes.read(known_remote, slot);
                    is_known = known_remote == tcp_remote;
                }
                next_outbound_state = tcp_after_outbound(outbound_state, hdr.tcp, is_known);
                if (next_outbound_state != outbound_state) {
                    outbound_expiry = tcp_expiry(next_outbound_state);
                    if (outbound_expiry != EXPIRY_AS_IT_IS) {
                        outbound.apply();
                    }
                }
            } else if (hdr.tcp.isValid() && is_new) {
                next_outbound_state = tcp_after_outbound(TCP_NEW, hdr.tcp, false);
            }
            if (filter_mode != FILTER_NONE && may_map && meta.dropped == DROP_NONE) {
                filtered = meta.source;
                remote = meta.destination;
                if (filter_mode == FILTER_ADDRESS || meta.kind == KIND_REQUEST) {
                    remote.port = 0;
                }
                filter_expiry = meta.protocol == IP_PROTOCOL_TCP ? EXPIRY_TCP_ESTABLISHED
                    : (meta.protocol == IP_PROTOCOL_ICMP ? EXPIRY_ICMP : EXPIRY_UDP);
                is_opening_filter = true;
                filters.apply();
                is_opening_filter = false;
            }
        }

        if (comes_in && meta.dropped == DROP_NONE) {
            external = meta.destination;
            bool may_come = meta.kind == KIND_FLOW || meta.kind == KIND_REPLY || meta.kind == KIND_ERROR;
            if (!may_come || !inbound.apply().hit) {
                meta.dropped = meta.kind == KIND_ERROR ? DROP_UNRELATED_ERROR : DROP_NO_MAPPING;
            }
            endpoint_t sender = meta.source;
            if (meta.source_changes == 1) {
                sender = meta.new_source;
            }
            if (has_inbound_slot && meta.kind != KIND_ERROR) {
                find_block.apply(meta.new_destination.addr, false, 0, 0, block);
                if (filter_mode != FILTER_NONE) {
                    filtered = meta.new_destination;
                    remote = sender;
                    if (filter_mode == FILTER_ADDRESS || meta.kind == KIND_REPLY) {
                        remote.port = 0;
                    }
                    if (!filters.apply().hit) {
                        meta.dropped = DROP_FILTERED;
                    }
                }
            }
            if (hdr.tcp.isValid() && has_inbound_slot && meta.dropped == DROP_NONE) {
                bit<32> slot = inbound_index ++ external.port;
                bool is_known = false;
                tcp_states.read(inbound_state, slot);
                if (tcp_may_change(inbound_state, hdr.tcp)) {
                    bit<48> known_remote;
                    tcp_remotes.read(known_remote, slot);
                    is_known = known_remote == sender.addr ++ sender.port;
                }
                next_inbound_state = tcp_after_inbound(inbound_state, hdr.tcp, is_known);
                if (next_inbound_state != inbound_state) {
                    inbound_expiry = tcp_expiry(next_inbound_state);
                    if (inbound_expiry != EXPIRY_AS_IT_IS) {
                        inbound.apply();
                    }
                }
            }
        }

        if (meta.dropped == DROP_NONE) {
            if (meta.destination_changes == 1) {
                route.apply(meta.new_destination.addr, way);
                if (way.kind != TO_INSIDE) {
                    meta.dropped = DROP_NO_ROUTE;
                }
            }
            if (hdr.ipv4.more_fragments == 1 && meta.kind != KIND_LATER_FRAGMENT
                && (meta.source_changes == 1 || meta.destination_changes == 1)) {
                is_first_fragment = true;
                fragments.apply();
                if (is_of_other) {
                    has_next_turn = true;
                    fragment_turn = fragment_turn + 1;
                    fragments.apply();
                }
            }
            if (meta.dropped == DROP_NONE && hdr.ipv4.total_len > way.mtu) {
                meta.dropped = DROP_TOO_LONG;
                if (hdr.ipv4.dont_fragment == 1) {
                    meta.error_type = ICMP_UNREACHABLE;
                    meta.error_code = ICMP_FRAGMENTATION_NEEDED;
                    meta.mtu = way.mtu;
                }
            }
            meta.egress_port = way.port;
            hdr.ethernet.src_addr = way.src_mac;
            hdr.ethernet.dst_addr = way.dst_mac;
        }
        if (meta.error_type != 0 || meta.is_trying == 1) {
            resubmit_preserving_field_list(AGAIN);
        }

        if (has_next_turn) {
            fragment_turns.write((bit<32>) fragment_place, fragment_turn);
        }
        if (is_new && block_number != 0) {
            port_turns.write(block_number, port_turn + 1);
            if (is_port_looked_up) {
                port_looks.write(port_slot, now);
            }
        }
        if (block.is_new || refusal == DROP_NO_BLOCK) {
            block_turns.write(0, block_turn + 1);
            if (is_block_looked_up) {
                block_looks.write((bit<32>) (block.index ++ block.base) >> BLOCK_BITS, now);
            }
        }
        if (next_outbound_state != outbound_state || (hdr.tcp.isValid() && is_new && refusal == DROP_NONE)) {
            bit<32> slot = outbound_index ++ meta.new_source.port;
            tcp_states.write(slot, next_outbound_state);
            if (next_outbound_state == TCP_OPENING || next_outbound_state == TCP_ANSWERED_INSIDE) {
                tcp_remotes.write(slot, tcp_remote);
            }
        }
        if (next_inbound_state != inbound_state) {
            tcp_states.write(inbound_index ++ external.port, next_inbound_state);
        }
    }
}

#endif
