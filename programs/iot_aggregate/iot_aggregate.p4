// Gathers N IoT messages of a flow into one N-packet. See README.md; formats and macros are in ../common/iot.p4.

#include <core.p4>
#include <v1model.p4>
#include "../common/iot.p4"
#include "../common/routing.p4"

// Flows that can have a batch open at the same time. A power of two spreads best.
#ifndef FLOWS
#define FLOWS 4096
#endif

#define FLOW_BITS 104

struct metadata_t {
    bit<16> next_hop;
}

parser AggregateParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
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
        // Fragments are routed, never aggregated. Packets with options are dropped: checksums are of headers of 20 bytes.
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.flags & 1, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (4, 5, 0, 0, IP_PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port, hdr.udp.length_, hdr.ipv4.total_len) {
            (IOT_UDP_PORT, MESSAGE_UDP_BYTES, IPV4_BYTES + MESSAGE_UDP_BYTES): parse_flag;
            default: accept;
        }
    }

    state parse_flag {
        packet.extract(hdr.flag);
        transition select(hdr.flag.type) {
            FLAG_MESSAGE: parse_msg;
            default: accept;
        }
    }

    state parse_msg {
        packet.extract(hdr.msg);
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

#if N > 1
// The i-th place of every flow's batch: keeps the message whose turn it is, gives it back when the batch is complete.
control SaveOrRetrieve(in msg_t msg, out msg_t retrieved, in bit<32> flow_slot, in bit<8> count)(bit<8> place) {
    register<bit<PAYLOAD_BITS>>(FLOWS) pool;

    apply {
        if (count == place) {
            pool.write(flow_slot, msg.data);
        } else if (count == N) {
            retrieved.setValid();
            pool.read(retrieved.data, flow_slot);
        }
    }
}
#endif

// Aggregates a message. Afterwards either `stored` is true and the packet is to be dropped, its payload being kept, or
// `complete` is true and the packet has become an N-packet, or neither: another flow has its batch open in this flow's
// slot, and the message goes on alone.
control Aggregate(inout headers_t hdr, out bool stored, out bool complete) {
    // Messages gathered of the batch in each slot, and the flow that it belongs to.
    register<bit<8>>(FLOWS) counts;
    register<bit<FLOW_BITS>>(FLOWS) owners;

#if N > 1
    SaveOrRetrieve(1) place1;
#endif
#if N > 2
    SaveOrRetrieve(2) place2;
#endif
#if N > 3
    SaveOrRetrieve(3) place3;
#endif
#if N > 4
    SaveOrRetrieve(4) place4;
#endif
#if N > 5
    SaveOrRetrieve(5) place5;
#endif
#if N > 6
    SaveOrRetrieve(6) place6;
#endif
#if N > 7
    SaveOrRetrieve(7) place7;
#endif

    apply {
        stored = false;
        complete = false;
        bit<FLOW_BITS> flow = hdr.ipv4.src_addr ++ hdr.ipv4.dst_addr ++ hdr.udp.src_port ++ hdr.udp.dst_port ++ hdr.ipv4.tos;
        bit<32> flow_slot;
        hash(flow_slot, HashAlgorithm.crc32, 32w0, { flow }, (bit<32>) FLOWS);

        @atomic {
            bit<8> count;
            bit<FLOW_BITS> owner;
            counts.read(count, flow_slot);
            owners.read(owner, flow_slot);
            if (count == 0 || owner == flow) {
                count = count + 1;
#if N > 1
                place1.apply(hdr.msg, hdr.agg[0], flow_slot, count);
#endif
#if N > 2
                place2.apply(hdr.msg, hdr.agg[1], flow_slot, count);
#endif
#if N > 3
                place3.apply(hdr.msg, hdr.agg[2], flow_slot, count);
#endif
#if N > 4
                place4.apply(hdr.msg, hdr.agg[3], flow_slot, count);
#endif
#if N > 5
                place5.apply(hdr.msg, hdr.agg[4], flow_slot, count);
#endif
#if N > 6
                place6.apply(hdr.msg, hdr.agg[5], flow_slot, count);
#endif
#if N > 7
                place7.apply(hdr.msg, hdr.agg[6], flow_slot, count);
#endif
                if (count == N) {
                    complete = true;
                    count = 0;
                } else {
                    stored = true;
                    owners.write(flow_slot, flow);
                }
                counts.write(flow_slot, count);
            }
        }

        if (complete) {
            hdr.agg[N - 1].setValid();
            hdr.agg[N - 1].data = hdr.msg.data;
            hdr.msg.setInvalid();
            hdr.flag.type = FLAG_N_PACKET;
            hdr.udp.length_ = N_PACKET_UDP_BYTES;
            hdr.ipv4.total_len = IPV4_BYTES + N_PACKET_UDP_BYTES;
        }
    }
}

control AggregateIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // What became of the messages: by index, stored, completed a batch, went alone.
    counter(3, CounterType.packets) messages;
    Aggregate() aggregate;
    Route() route;

    // The checksum of a message with a zero checksum is not computed by its sender, nor is it checked (RFC 768).
    action check_message(out bool intact) {
        bit<16> sum;
        hash(sum, HashAlgorithm.csum16, 16w0,
             { UDP_PSEUDO_HEADER, hdr.udp.checksum, hdr.flag.type, hdr.flag.padding, hdr.msg.data }, 32w0x10000);
        intact = hdr.udp.checksum == 0 || sum == 0;
    }

    apply {
        if (standard_metadata.parser_error != error.NoError || standard_metadata.checksum_error == 1
            || !hdr.ipv4.isValid()) {
            mark_to_drop(standard_metadata);
            return;
        }
        // A message that may not be forwarded is dropped below: the last one of a batch would take the others with it.
        if (hdr.msg.isValid() && hdr.ipv4.ttl > 1) {
            // A damaged message is not hidden under the N-packet's new checksum: it goes on alone, for its receiver to see.
            bool intact;
            bool stored = false;
            bool complete = false;
            check_message(intact);
            if (intact) {
                aggregate.apply(hdr, stored, complete);
            }
            if (stored) {
                messages.count(0);
                mark_to_drop(standard_metadata);
                return;
            }
            if (complete) {
                messages.count(1);
                // What followed the message in its frame (padding of Ethernet) is not part of the N-packet.
                truncate((bit<32>) (ETHERNET_BYTES + IPV4_BYTES + N_PACKET_UDP_BYTES));
            } else {
                messages.count(2);
            }
        }
        route.apply(hdr.ipv4, meta.next_hop, standard_metadata);
    }
}

control AggregateEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Rewrite() rewrite;

    apply {
        rewrite.apply(hdr.ethernet, hdr.ipv4, meta.next_hop, standard_metadata);
        if (hdr.agg[0].isValid() && hdr.udp.checksum != 0) {
            bit<16> sum;
            hash(sum, HashAlgorithm.csum16, 16w0,
                 { UDP_PSEUDO_HEADER, hdr.flag.type, hdr.flag.padding, AGG_FIELDS }, 32w0x10000);
            // Zero would mean "no checksum"; its other form in ones' complement is sent.
            hdr.udp.checksum = sum == 0 ? 16w0xffff : sum;
        }
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
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.flag);
        packet.emit(hdr.msg);
        packet.emit(hdr.agg);
    }
}

V1Switch(AggregateParser(), AggregateVerifyChecksum(), AggregateIngress(), AggregateEgress(),
         AggregateComputeChecksum(), AggregateDeparser()) main;
