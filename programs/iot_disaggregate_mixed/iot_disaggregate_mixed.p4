// Splits N-packets of messages of different lengths, as iot_aggregate_timed makes them. See README.md; formats are in
// ../common/iot_mixed.p4.

#include <core.p4>
#include <v1model.p4>
#include "../common/iot_mixed.p4"
#include "../common/routing.p4"

// The multicast group of c copies to port p is FIRST_REPLICA + 8 * p + c - 1; its nodes have rid 0 ... c - 1.
#define FIRST_REPLICA 1000

// Values of standard_metadata.instance_type (behavioral-model docs/simple_switch.md).
const bit<32> INSTANCE_REPLICATION = 5;

error {
    // An N-packet without messages, with more than N, or with lengths that are not those of its messages.
    IotBadLength
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
    flag_t flag;
    message_t message0;
    message_t message1;
#if N > 2
    message_t message2;
    message_t message3;
#endif
#if N > 4
    message_t message4;
    message_t message5;
    message_t message6;
    message_t message7;
#endif
}

struct metadata_t {
    bit<16> next_hop;
    // Bytes of the messages that were parsed, with their lengths.
    bit<16> bytes;
}

// The states that parse message `i`, and then go on with `next` unless it was the last.
#define PARSE_PIECE(i, size, bit, next) \
    state choose##size##_##i { \
        transition select(hdr.message##i.length.bytes[bit:bit]) { \
            1: parse##size##_##i; \
            default: next; \
        } \
    } \
    state parse##size##_##i { \
        packet.extract(hdr.message##i.piece##size); \
        transition next; \
    }
#define PARSE_MESSAGE(i, number, next) \
    state message##i { \
        packet.extract(hdr.message##i.length); \
        verify(hdr.message##i.length.bytes[7:5] == 0 && hdr.message##i.length.bytes != 0, error.IotBadLength); \
        meta.bytes = meta.bytes + 1 + (bit<16>) hdr.message##i.length.bytes; \
        transition choose16_##i; \
    } \
    PARSE_PIECE(i, 16, 4, choose8_##i) \
    PARSE_PIECE(i, 8, 3, choose4_##i) \
    PARSE_PIECE(i, 4, 2, choose2_##i) \
    PARSE_PIECE(i, 2, 1, choose1_##i) \
    PARSE_PIECE(i, 1, 0, behind##i) \
    state behind##i { \
        transition select(hdr.flag.count) { \
            number: whole; \
            default: next; \
        } \
    }

parser DisaggregateParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
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
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.flags & 1, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (4, 5, 0, 0, IP_PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port) {
            IOT_UDP_PORT: parse_flag;
            default: accept;
        }
    }

    state parse_flag {
        transition select(packet.lookahead<bit<8>>()) {
            FLAG_MIXED_PACKET: parse_n_packet;
            // A message that went alone, or no IoT message: routed as it is.
            default: accept;
        }
    }

    state parse_n_packet {
        packet.extract(hdr.flag);
        transition message0;
    }

    PARSE_MESSAGE(0, 1, message1)
#if N == 2
    PARSE_MESSAGE(1, 2, too_many)
#else
    PARSE_MESSAGE(1, 2, message2)
    PARSE_MESSAGE(2, 3, message3)
#if N == 4
    PARSE_MESSAGE(3, 4, too_many)
#else
    PARSE_MESSAGE(3, 4, message4)
    PARSE_MESSAGE(4, 5, message5)
    PARSE_MESSAGE(5, 6, message6)
    PARSE_MESSAGE(6, 7, message7)
    PARSE_MESSAGE(7, 8, too_many)
#endif
#endif

    state too_many {
        verify(false, error.IotBadLength);
        transition accept;
    }

    state whole {
        verify(hdr.udp.length_ == UDP_BYTES + FLAG_BYTES + meta.bytes
               && hdr.ipv4.total_len == IPV4_BYTES + UDP_BYTES + FLAG_BYTES + meta.bytes, error.IotBadLength);
        transition accept;
    }
}

control DisaggregateVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control DisaggregateIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // By index: N-packets split, other packets routed.
    counter(2, CounterType.packets) packets;
    Route() route;

    apply {
        if (standard_metadata.parser_error != error.NoError || standard_metadata.checksum_error == 1
            || !hdr.ipv4.isValid()) {
            mark_to_drop(standard_metadata);
            return;
        }
        route.apply(hdr.ipv4, meta.next_hop, standard_metadata);
        if (meta.next_hop == 0) {
            // No route: the packet is marked to drop, and no copy of it is made.
            return;
        }
        if (!hdr.message0.length.isValid()) {
            packets.count(1);
            return;
        }
        packets.count(0);
        standard_metadata.mcast_grp = FIRST_REPLICA + ((bit<16>) standard_metadata.egress_spec << 3) + (bit<16>) hdr.flag.count - 1;
    }
}

control DisaggregateEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Rewrite() rewrite;

    // Removes a message from the packet.
    action leave_out(inout message_t message) {
        message.length.setInvalid();
        message.piece16.setInvalid();
        message.piece8.setInvalid();
        message.piece4.setInvalid();
        message.piece2.setInvalid();
        message.piece1.setInvalid();
    }

    // Lengths of the message that is left in the packet.
    action form_message(bit<16> bytes) {
        hdr.flag.type = FLAG_MESSAGE;
        hdr.flag.count = 0;
        hdr.udp.length_ = UDP_BYTES + FLAG_BYTES + bytes;
        hdr.udp.checksum = 0;
        hdr.ipv4.total_len = IPV4_BYTES + UDP_BYTES + FLAG_BYTES + bytes;
        truncate((bit<32>) (ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES + FLAG_BYTES + bytes));
    }

#define KEEP_ONLY(i) \
    if (standard_metadata.egress_rid == i) { \
        form_message((bit<16>) hdr.message##i.length.bytes); \
        hdr.message##i.length.setInvalid(); \
    } else { \
        leave_out(hdr.message##i); \
    }

    apply {
        if (standard_metadata.instance_type == INSTANCE_REPLICATION && hdr.message0.length.isValid()) {
            KEEP_ONLY(0)
            KEEP_ONLY(1)
#if N > 2
            KEEP_ONLY(2)
            KEEP_ONLY(3)
#endif
#if N > 4
            KEEP_ONLY(4)
            KEEP_ONLY(5)
            KEEP_ONLY(6)
            KEEP_ONLY(7)
#endif
        }
        rewrite.apply(hdr.ethernet, hdr.ipv4, meta.next_hop, standard_metadata);
    }
}

control DisaggregateComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control DisaggregateDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(DisaggregateParser(), DisaggregateVerifyChecksum(), DisaggregateIngress(), DisaggregateEgress(),
         DisaggregateComputeChecksum(), DisaggregateDeparser()) main;
