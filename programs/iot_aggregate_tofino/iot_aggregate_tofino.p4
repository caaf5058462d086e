// Gathers N IoT messages into one N-packet, in a form that fits the stages of a switch chip. See README.md; formats and macros
// are in ../common/iot.p4.
//
// Two things that iot_aggregate.p4 does are not possible in stages. It keeps the owner of each batch, so that two flows with the
// same hash do not mix, which needs two registers that depend on each other; and it verifies the checksum over a payload in a
// control. Here a table gives each flow a place of its own, and messages without an entry are routed as they are.

#include <core.p4>
#include <v1model.p4>
#include "../common/iot.p4"
#include "../common/routing.p4"

// Flows that can have a batch open at the same time.
#ifndef FLOWS
#define FLOWS 4096
#endif

struct metadata_t {
    bit<16> next_hop;
    bit<16> flow;
    bit<8> count;
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
control SaveOrRetrieve(in msg_t msg, out msg_t retrieved, in bit<32> flow, in bit<8> count)(bit<8> place) {
    register<bit<PAYLOAD_BITS>>(FLOWS) pool;

    apply {
        if (count == place) {
            pool.write(flow, msg.data);
        } else if (count == N) {
            retrieved.setValid();
            pool.read(retrieved.data, flow);
        }
    }
}
#endif

control AggregateIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<8>>(FLOWS) counts;
    Route() route;

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

    action aggregate(bit<16> flow) {
        meta.flow = flow;
    }

    // The place in which the messages of a flow are gathered.
    table flows {
        key = {
            hdr.ipv4.src_addr: exact;
            hdr.ipv4.dst_addr: exact;
            hdr.udp.src_port: exact;
        }
        actions = {
            aggregate;
            NoAction;
        }
        default_action = NoAction();
        size = FLOWS;
    }

    apply {
        if (standard_metadata.parser_error != error.NoError || standard_metadata.checksum_error == 1
            || !hdr.ipv4.isValid()) {
            mark_to_drop(standard_metadata);
            return;
        }
        // A message that may not be forwarded is dropped below: the last one of a batch would take the others with it.
        if (hdr.msg.isValid() && hdr.ipv4.ttl > 1 && flows.apply().hit) {
            @atomic {
                bit<8> count;
                counts.read(count, (bit<32>) meta.flow);
                meta.count = count + 1;
                counts.write((bit<32>) meta.flow, count == N - 1 ? 8w0 : count + 1);
#if N > 1
                place1.apply(hdr.msg, hdr.agg[0], (bit<32>) meta.flow, meta.count);
#endif
#if N > 2
                place2.apply(hdr.msg, hdr.agg[1], (bit<32>) meta.flow, meta.count);
#endif
#if N > 3
                place3.apply(hdr.msg, hdr.agg[2], (bit<32>) meta.flow, meta.count);
#endif
#if N > 4
                place4.apply(hdr.msg, hdr.agg[3], (bit<32>) meta.flow, meta.count);
#endif
#if N > 5
                place5.apply(hdr.msg, hdr.agg[4], (bit<32>) meta.flow, meta.count);
#endif
#if N > 6
                place6.apply(hdr.msg, hdr.agg[5], (bit<32>) meta.flow, meta.count);
#endif
#if N > 7
                place7.apply(hdr.msg, hdr.agg[6], (bit<32>) meta.flow, meta.count);
#endif
            }
            if (meta.count < N) {
                mark_to_drop(standard_metadata);
                return;
            }
            hdr.agg[N - 1].setValid();
            hdr.agg[N - 1].data = hdr.msg.data;
            hdr.msg.setInvalid();
            hdr.flag.type = FLAG_N_PACKET;
            hdr.udp.length_ = N_PACKET_UDP_BYTES;
            hdr.udp.checksum = 0;
            hdr.ipv4.total_len = IPV4_BYTES + N_PACKET_UDP_BYTES;
            // What followed the message in its frame (padding of Ethernet) is not part of the N-packet.
            truncate((bit<32>) (ETHERNET_BYTES + IPV4_BYTES + N_PACKET_UDP_BYTES));
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
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.flag);
        packet.emit(hdr.msg);
        packet.emit(hdr.agg);
    }
}

V1Switch(AggregateParser(), AggregateVerifyChecksum(), AggregateIngress(), AggregateEgress(),
         AggregateComputeChecksum(), AggregateDeparser()) main;
