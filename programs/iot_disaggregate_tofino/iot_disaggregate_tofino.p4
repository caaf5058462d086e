// Splits N-packets into the IoT messages that they carry, in a form that fits the stages of a switch chip. See README.md; formats
// and macros are in ../common/iot.p4.
//
// iot_disaggregate.p4 verifies the checksum over an N-packet's payload, and computes one for each message, in a control. That is
// not possible in stages: here messages have no UDP checksum (zero, RFC 768).
//
// METHOD selects how the N copies of an N-packet are made:
//   METHOD_RESUBMIT   resubmitted N - 1 times, one clone taken in each of the N passes
//   METHOD_MULTICAST  replicated N times by the packet replication engine, egress_rid tells the copies apart
//   METHOD_SPREAD     the same, but that the copies go to loopback ports; as messages they come back by them, and are routed

#include <core.p4>
#include <v1model.p4>
#include "../common/iot.p4"
#include "../common/routing.p4"

#define METHOD_RESUBMIT 1
#define METHOD_MULTICAST 2
#define METHOD_SPREAD 3
#ifndef METHOD
#define METHOD METHOD_MULTICAST
#endif
#if METHOD != METHOD_RESUBMIT && METHOD != METHOD_MULTICAST && METHOD != METHOD_SPREAD
#error "METHOD must be METHOD_RESUBMIT (1), METHOD_MULTICAST (2) or METHOD_SPREAD (3)"
#endif

// Each pass takes one clone, so N - 1 resubmissions are enough. The published program resubmits N times; with as many the
// last pass takes no clone.
#ifndef RESUBMISSIONS
#define RESUBMISSIONS (N - 1)
#endif

// The clone session, or the multicast group, that leads to port p is FIRST_REPLICA + p.
#define FIRST_REPLICA 1000
// METHOD_SPREAD: the multicast group whose copies go to the loopback ports, wherever messages leave.
#define LANES_GROUP 999

// Values of standard_metadata.instance_type (behavioral-model docs/simple_switch.md).
const bit<32> INSTANCE_INGRESS_CLONE = 1;
const bit<32> INSTANCE_RECIRCULATED = 4;
const bit<32> INSTANCE_REPLICATION = 5;

#define PRESERVED_BY_CLONE 1
#define PRESERVED_BY_RESUBMIT 2
// The other methods neither clone nor resubmit.
#if METHOD == METHOD_RESUBMIT
#define PRESERVED(list) @field_list(list)
#else
#define PRESERVED(list)
#endif

struct metadata_t {
    PRESERVED(PRESERVED_BY_CLONE)
    bit<16> next_hop;
    // Which message of the N-packet this copy is to become.
    PRESERVED(PRESERVED_BY_CLONE)
    bit<8> message;
    // How often the N-packet has been resubmitted: "C" of the paper.
    PRESERVED(PRESERVED_BY_RESUBMIT)
    bit<8> round;
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
            FLAG_N_PACKET: parse_agg;
            // A message that went alone, or no IoT message: routed as it is.
            default: accept;
        }
    }

    state parse_agg {
        packet.extract(hdr.flag);
        verify(hdr.udp.length_ == N_PACKET_UDP_BYTES
               && hdr.ipv4.total_len == IPV4_BYTES + N_PACKET_UDP_BYTES, error.IotBadLength);
        packet.extract(hdr.agg.next);
#if N > 1
        packet.extract(hdr.agg.next);
#endif
#if N > 2
        packet.extract(hdr.agg.next);
#endif
#if N > 3
        packet.extract(hdr.agg.next);
#endif
#if N > 4
        packet.extract(hdr.agg.next);
#endif
#if N > 5
        packet.extract(hdr.agg.next);
#endif
#if N > 6
        packet.extract(hdr.agg.next);
#endif
#if N > 7
        packet.extract(hdr.agg.next);
#endif
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
        if (!hdr.agg[0].isValid()) {
#if METHOD == METHOD_SPREAD
            // A message that comes back from a loopback port was counted with its N-packet.
            if (standard_metadata.instance_type == INSTANCE_RECIRCULATED) {
                return;
            }
#endif
            packets.count(1);
            return;
        }
#if METHOD == METHOD_RESUBMIT
        if (meta.round == 0) {
            packets.count(0);
        }
#if RESUBMISSIONS > N - 1
        if (meta.round < N)
#endif
        {
            meta.message = meta.round;
            clone_preserving_field_list(CloneType.I2E, FIRST_REPLICA + (bit<32>) standard_metadata.egress_spec,
                                        PRESERVED_BY_CLONE);
        }
        if (meta.round < RESUBMISSIONS) {
            meta.round = meta.round + 1;
            resubmit_preserving_field_list(PRESERVED_BY_RESUBMIT);
        } else {
            // The N-packet itself goes nowhere: all its messages have left as clones.
            mark_to_drop(standard_metadata);
        }
#else
        packets.count(0);
#if METHOD == METHOD_SPREAD
        standard_metadata.mcast_grp = LANES_GROUP;
#else
        standard_metadata.mcast_grp = FIRST_REPLICA + (bit<16>) standard_metadata.egress_spec;
#endif
#endif
    }
}

control DisaggregateEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Rewrite() rewrite;

    // Leaves message `index` alone in the packet, with lengths of its own and no UDP checksum.
    action form_message(bit<8> index) {
        hdr.msg.setValid();
        hdr.msg.data = hdr.agg[index].data;
        hdr.agg[0].setInvalid();
#if N > 1
        hdr.agg[1].setInvalid();
#endif
#if N > 2
        hdr.agg[2].setInvalid();
#endif
#if N > 3
        hdr.agg[3].setInvalid();
#endif
#if N > 4
        hdr.agg[4].setInvalid();
#endif
#if N > 5
        hdr.agg[5].setInvalid();
#endif
#if N > 6
        hdr.agg[6].setInvalid();
#endif
#if N > 7
        hdr.agg[7].setInvalid();
#endif
        hdr.flag.type = FLAG_MESSAGE;
        hdr.udp.length_ = MESSAGE_UDP_BYTES;
        hdr.udp.checksum = 0;
        hdr.ipv4.total_len = IPV4_BYTES + MESSAGE_UDP_BYTES;
        truncate((bit<32>) (ETHERNET_BYTES + IPV4_BYTES + MESSAGE_UDP_BYTES));
    }

    apply {
#if METHOD == METHOD_SPREAD
        if (hdr.agg[0].isValid()) {
            form_message((bit<8>) standard_metadata.egress_rid);
            recirculate_preserving_field_list(0);
            return;
        }
#else
        if (hdr.agg[0].isValid()) {
            if (standard_metadata.instance_type == INSTANCE_INGRESS_CLONE) {
                form_message(meta.message);
            } else if (standard_metadata.instance_type == INSTANCE_REPLICATION) {
                form_message((bit<8>) standard_metadata.egress_rid);
            }
        }
#endif
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
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.flag);
        packet.emit(hdr.msg);
        packet.emit(hdr.agg);
    }
}

V1Switch(DisaggregateParser(), DisaggregateVerifyChecksum(), DisaggregateIngress(), DisaggregateEgress(),
         DisaggregateComputeChecksum(), DisaggregateDeparser()) main;
