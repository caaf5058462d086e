// Gathers up to N IoT messages of a flow, of any lengths, into one N-packet, and lets none of them wait for longer than MAX_AGE
// and a round of the timer. See README.md; formats are in ../common/iot_mixed.p4, timer packets in ../common/timer.p4.

#include <core.p4>
#include <v1model.p4>
#include "../common/iot_mixed.p4"
#include "../common/timer.p4"
#include "../common/routing.p4"

// Flows that can have a batch open at the same time. The timer has as many packets.
#ifndef FLOWS
#define FLOWS 256
#endif
#if FLOWS & (FLOWS - 1)
#error "FLOWS must be a power of two"
#endif

// Microseconds after which a batch is sent on, however many messages it has.
#ifndef MAX_AGE
#define MAX_AGE 100
#endif

// The port of timer packets. On other ports, packets of their EtherType are not timer packets.
#ifndef TIMER_PORT
#define TIMER_PORT 63
#endif

// What messages have in common that go into one N-packet: addresses, ports, class and TTL.
#define FLOW_BITS 112

struct headers_t {
    ethernet_t ethernet;
    timer_t timer;
    ipv4_t ipv4;
    udp_t udp;
    flag_t flag;
    // Messages that were kept, in their order, and the one that has just come.
    message_t kept1;
#if N > 2
    message_t kept2;
    message_t kept3;
#endif
#if N > 4
    message_t kept4;
    message_t kept5;
    message_t kept6;
    message_t kept7;
#endif
    message_t own;
}

struct metadata_t {
    bit<16> next_hop;
    bit<8> payload_bytes;
}

parser AggregateParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(standard_metadata.ingress_port, hdr.ethernet.ether_type) {
            (TIMER_PORT, ETHERTYPE_TIMER): parse_timer;
            (_, ETHERTYPE_IPV4): parse_ipv4;
            default: accept;
        }
    }

    state parse_timer {
        packet.extract(hdr.timer);
        transition accept;
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        // Fragments are routed, never aggregated. Packets with options are dropped: checksums are of headers of 20 bytes.
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.flags & 1, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (4, 5, 0, 0, IP_PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port, hdr.udp.length_) {
            (IOT_UDP_PORT, UDP_BYTES + FLAG_BYTES + 1 .. UDP_BYTES + FLAG_BYTES + PAYLOAD_BYTES_MAX): parse_flag;
            default: accept;
        }
    }

    state parse_flag {
        transition select(packet.lookahead<bit<8>>()) {
            FLAG_MESSAGE: parse_message;
            default: accept;
        }
    }

    state parse_message {
        packet.extract(hdr.flag);
        meta.payload_bytes = (bit<8>) (hdr.udp.length_ - UDP_BYTES - FLAG_BYTES);
        transition choose16;
    }

    state choose16 {
        transition select(meta.payload_bytes[4:4]) {
            1: parse16;
            default: choose8;
        }
    }

    state parse16 {
        packet.extract(hdr.own.piece16);
        transition choose8;
    }

    state choose8 {
        transition select(meta.payload_bytes[3:3]) {
            1: parse8;
            default: choose4;
        }
    }

    state parse8 {
        packet.extract(hdr.own.piece8);
        transition choose4;
    }

    state choose4 {
        transition select(meta.payload_bytes[2:2]) {
            1: parse4;
            default: choose2;
        }
    }

    state parse4 {
        packet.extract(hdr.own.piece4);
        transition choose2;
    }

    state choose2 {
        transition select(meta.payload_bytes[1:1]) {
            1: parse2;
            default: choose1;
        }
    }

    state parse2 {
        packet.extract(hdr.own.piece2);
        transition choose1;
    }

    state choose1 {
        transition select(meta.payload_bytes[0:0]) {
            1: parse1;
            default: accept;
        }
    }

    state parse1 {
        packet.extract(hdr.own.piece1);
        transition accept;
    }
}

control AggregateVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

// A piece of a payload that was kept, if its length has the bit for it.
#define SET_PIECE(size, bit, high, low) \
            if (kept.length.bytes[bit:bit] == 1) { \
                kept.piece##size.setValid(); \
                kept.piece##size.data = payload[high:low]; \
            }

// One place of every batch. A message is kept in the first place that is free. When the batch is sent, all taken places return
// their messages.
control Place(in message_t own, in bit<8> own_bytes, inout message_t kept, in bit<32> batch, in bit<8> taken, in bool goes)
             (bit<8> number) {
    register<bit<8>>(FLOWS) lengths;
    register<bit<PIECES_BITS>>(FLOWS) payloads;

    apply {
        if (goes && number <= taken) {
            bit<PIECES_BITS> payload;
            payloads.read(payload, batch);
            kept.length.setValid();
            lengths.read(kept.length.bytes, batch);
            SET_PIECE(16, 4, 247, 120)
            SET_PIECE(8, 3, 119, 56)
            SET_PIECE(4, 2, 55, 24)
            SET_PIECE(2, 1, 23, 8)
            SET_PIECE(1, 0, 7, 0)
        } else if (!goes && number == taken + 1) {
            lengths.write(batch, own_bytes);
            payloads.write(batch,
                           own.piece16.data ++ own.piece8.data ++ own.piece4.data ++ own.piece2.data ++ own.piece1.data);
        }
    }
}

// Keeps a message, or sends a batch: because it is full, too old, or the switch stops. Afterwards either `kept` is true and the
// packet is to be dropped, or `goes` is true and the packet is to become an N-packet of the `taken` messages that were kept and its
// own message, if any; or neither.
control Gather(inout headers_t hdr, in bit<8> own_bytes, in bit<48> now, out bool kept, out bool goes, out bit<8> taken,
               out bit<FLOW_BITS> owner, out bit<16> bytes) {
    // By batch: messages kept, their flow, when the first came, and the bytes that they take in an N-packet.
    register<bit<8>>(FLOWS) counts;
    register<bit<FLOW_BITS>>(FLOWS) owners;
    register<bit<48>>(FLOWS) begun;
    register<bit<16>>(FLOWS) sizes;

    Place(1) place1;
#if N > 2
    Place(2) place2;
    Place(3) place3;
#endif
#if N > 4
    Place(4) place4;
    Place(5) place5;
    Place(6) place6;
    Place(7) place7;
#endif

    apply {
        kept = false;
        goes = false;
        bit<FLOW_BITS> flow = 0;
        bit<32> batch;
        if (hdr.timer.isValid()) {
            batch = hdr.timer.number & (FLOWS - 1);
        } else {
            flow = hdr.ipv4.src_addr ++ hdr.ipv4.dst_addr ++ hdr.udp.src_port ++ hdr.udp.dst_port ++ hdr.ipv4.tos ++ hdr.ipv4.ttl;
            hash(batch, HashAlgorithm.crc32, 32w0, { flow }, (bit<32>) FLOWS);
        }

        @atomic {
            bit<48> since;
            counts.read(taken, batch);
            owners.read(owner, batch);
            begun.read(since, batch);
            sizes.read(bytes, batch);
            bool is_old = taken != 0 && now - since >= MAX_AGE;
            if (hdr.timer.isValid()) {
                goes = is_old || (taken != 0 && hdr.timer.kind == TIMER_LAST_ROUND);
                if (goes) {
                    counts.write(batch, 0);
                    sizes.write(batch, 0);
                }
            } else if (taken == 0 || owner == flow) {
                goes = is_old || taken == N - 1;
                kept = !goes;
                if (taken == 0) {
                    owners.write(batch, flow);
                    begun.write(batch, now);
                }
                counts.write(batch, goes ? 8w0 : taken + 1);
                sizes.write(batch, goes ? 16w0 : bytes + 1 + (bit<16>) own_bytes);
            }
            if (kept || goes) {
                place1.apply(hdr.own, own_bytes, hdr.kept1, batch, taken, goes);
#if N > 2
                place2.apply(hdr.own, own_bytes, hdr.kept2, batch, taken, goes);
                place3.apply(hdr.own, own_bytes, hdr.kept3, batch, taken, goes);
#endif
#if N > 4
                place4.apply(hdr.own, own_bytes, hdr.kept4, batch, taken, goes);
                place5.apply(hdr.own, own_bytes, hdr.kept5, batch, taken, goes);
                place6.apply(hdr.own, own_bytes, hdr.kept6, batch, taken, goes);
                place7.apply(hdr.own, own_bytes, hdr.kept7, batch, taken, goes);
#endif
            }
        }
    }
}

control AggregateIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // By index: messages kept; N-packets by a message, by the timer, in the last round; messages that went alone.
    counter(5, CounterType.packets) outcomes;
    Gather() gather;
    Route() route;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    // The sum over all of a right segment, its checksum included, is zero. Pieces that a message does not have add nothing.
    action check_message(out bool intact) {
        bit<16> sum;
        hash(sum, HashAlgorithm.csum16, 16w0,
             { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, 8w0, hdr.ipv4.protocol, hdr.udp.length_, hdr.udp.src_port,
               hdr.udp.dst_port, hdr.udp.length_, hdr.udp.checksum, hdr.flag.type, hdr.flag.count, hdr.flag.padding,
               hdr.own.piece16.data, hdr.own.piece8.data, hdr.own.piece4.data, hdr.own.piece2.data, hdr.own.piece1.data,
               8w0 }, 32w0x10000);
        intact = hdr.udp.checksum == 0 || sum == 0;
    }

    // A timer packet takes the headers of the flow whose batch it carries away.
    action become_packet(bit<FLOW_BITS> owner) {
        hdr.timer.setInvalid();
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.ipv4.setValid();
        hdr.ipv4.version = 4;
        hdr.ipv4.ihl = 5;
        hdr.ipv4.tos = owner[15:8];
        hdr.ipv4.identification = 0;
        // Not to be fragmented: then the identification says nothing (RFC 6864, section 4).
        hdr.ipv4.flags = 2;
        hdr.ipv4.frag_offset = 0;
        hdr.ipv4.ttl = owner[7:0];
        hdr.ipv4.protocol = IP_PROTOCOL_UDP;
        hdr.ipv4.src_addr = owner[111:80];
        hdr.ipv4.dst_addr = owner[79:48];
        hdr.udp.setValid();
        hdr.udp.src_port = owner[47:32];
        hdr.udp.dst_port = owner[31:16];
        hdr.flag.setValid();
        hdr.flag.padding = 0;
    }

    action form_n_packet(bit<8> count, bit<16> bytes) {
        hdr.flag.type = FLAG_MIXED_PACKET;
        hdr.flag.count = count;
        hdr.udp.length_ = UDP_BYTES + FLAG_BYTES + bytes;
        hdr.udp.checksum = 0;
        hdr.ipv4.total_len = IPV4_BYTES + UDP_BYTES + FLAG_BYTES + bytes;
        // What followed the message, or the timer's header, in its frame is not part of the N-packet.
        truncate((bit<32>) (ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES + FLAG_BYTES + bytes));
    }

    apply {
        if (standard_metadata.parser_error != error.NoError || standard_metadata.checksum_error == 1
            || !(hdr.ipv4.isValid() || hdr.timer.isValid())) {
            drop();
            return;
        }
        bool is_timer = hdr.timer.isValid();
        bool is_message = hdr.flag.isValid() && hdr.ipv4.total_len == IPV4_BYTES + hdr.udp.length_;
        bool intact = true;
        if (is_message) {
            check_message(intact);
        }
        if (is_message && !intact) {
            // N-packets have no checksum: a damaged message goes on alone, for its receiver to see.
            outcomes.count(4);
        } else if (is_timer || is_message) {
            bool kept;
            bool goes;
            bit<8> taken;
            bit<FLOW_BITS> owner;
            bit<16> bytes;
            gather.apply(hdr, meta.payload_bytes, standard_metadata.ingress_global_timestamp, kept, goes, taken, owner, bytes);
            if (kept || (is_timer && !goes)) {
                if (kept) {
                    outcomes.count(0);
                }
                drop();
                return;
            }
            if (is_timer) {
                outcomes.count(hdr.timer.kind == TIMER_LAST_ROUND ? 32w3 : 2);
                become_packet(owner);
                form_n_packet(taken, bytes);
            } else if (goes) {
                outcomes.count(1);
                hdr.own.length.setValid();
                hdr.own.length.bytes = meta.payload_bytes;
                form_n_packet(taken + 1, bytes + 1 + (bit<16>) meta.payload_bytes);
            } else {
                // Another flow has the place of its batch.
                outcomes.count(4);
            }
        }
        route.apply(hdr.ipv4, meta.next_hop, standard_metadata);
    }
}

control AggregateEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Rewrite() rewrite;

    apply {
        rewrite.apply(hdr.ethernet, hdr.ipv4, meta.next_hop, standard_metadata);
    }
}

control AggregateComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control AggregateDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.timer);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.flag);
        packet.emit(hdr.kept1);
#if N > 2
        packet.emit(hdr.kept2);
        packet.emit(hdr.kept3);
#endif
#if N > 4
        packet.emit(hdr.kept4);
        packet.emit(hdr.kept5);
        packet.emit(hdr.kept6);
        packet.emit(hdr.kept7);
#endif
        packet.emit(hdr.own);
    }
}

V1Switch(AggregateParser(), AggregateVerifyChecksum(), AggregateIngress(), AggregateEgress(),
         AggregateComputeChecksum(), AggregateDeparser()) main;
