// In-band Network Telemetry 2.1: source, transit hop and sink in one program, with the modes MD, MX and XD; reports as
// Telemetry Report 2.0, also of drops. See README.md. INT goes over UDP, whose destination port INT_PORT marks it:
//
//   UDP packet      Ethernet | VLAN | IP | UDP | shim (NPT 1) | INT | metadata | payload
//   other packets   Ethernet | VLAN | IP | new UDP | shim (NPT 2) | INT | metadata | TCP, ICMP, ...
//
//   report          Ethernet | IPv4 | UDP | group | individual | main contents | own metadata | truncated packet
//
// Ingress forwards, and matches packets without INT against the watch lists. Egress, where queue and times are known, adds
// metadata or removes them. What a report needs is left in metadata and in `saved` headers, which are never emitted; a
// clone of the packet takes them along and becomes the report.

#include <core.p4>
#include <v1model.p4>
#include "../lib/headers.p4"
#include "../lib/checksum.p4"

#include "packet.p4"
#include "ingress.p4"
#include "hops.p4"
#include "report.p4"

control IntVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control IntEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Source() source;
    Transit() transit;
#ifndef NO_SINK
    Sink() sink;
#endif
    Change() change_packet;
    Report() report;

    @element_names("source MD", "source MX", "XD", "transit MD", "transit MX", "sink MD", "sink MX",
                   "hop count exceeded", "MTU exceeded", "not understood", "no room", "reports", "discarded")
    counter(COUNTS, CounterType.packets) int_packets;

    action set_mtu(bit<16> mtu) {
        meta.mtu = mtu;
    }

    // The longest IP packet of each port; without an entry there is no limit.
    table mtus {
        key = {
            standard_metadata.egress_port: exact;
        }
        actions = {
            set_mtu;
        }
        default_action = set_mtu(0xffff);
        size = 512;
    }

#ifndef NO_SINK
    bit<8> sink_collector = 0;

    action int_sink(bit<8> collector) {
        sink_collector = collector;
    }

    // Ports out of the INT domain: INT ends here, and what it gathered goes to the collector.
    table sink_ports {
        key = {
            standard_metadata.egress_port: exact;
        }
        actions = {
            int_sink;
            NoAction;
        }
        default_action = NoAction();
        size = 512;
    }
#endif

    action measure() {
        bit<48> time = standard_metadata.egress_global_timestamp - standard_metadata.ingress_global_timestamp;
        meta.report.ingress_port = (bit<16>) standard_metadata.ingress_port;
        meta.report.egress_port = (bit<16>) standard_metadata.egress_port;
        meta.report.latency = (bit<32>) time * 1000;
        meta.report.queue_id = (bit<8>) standard_metadata.priority;
        meta.report.queue_depth = (bit<24>) standard_metadata.deq_qdepth;
        meta.report.ingress_time = (bit<64>) standard_metadata.ingress_global_timestamp * 1000 + meta.time_base;
        meta.report.egress_time = (bit<64>) standard_metadata.egress_global_timestamp * 1000 + meta.time_base;
        meta.report.congested = meta.report.queue_depth >= meta.congestion_depth ? 1w1 : 1w0;
    }

    // Sends a clone of the packet as a report.
    action send_report(bit<8> collector, bit<16> instructions) {
        meta.report.collector = collector;
        meta.report.instructions = instructions;
        meta.report.inner_bytes = meta.layer2_bytes + meta.ip_bytes;
        clone_preserving_field_list(CloneType.E2E, (bit<32>) collector, REPORT_FIELDS);
    }

    apply {
        if (standard_metadata.instance_type == INSTANCE_EGRESS_CLONE
            || standard_metadata.instance_type == INSTANCE_INGRESS_CLONE) {
            report.apply(hdr, meta);
            if (hdr.report_ethernet.isValid()) {
                int_packets.count(COUNT_REPORTS);
            } else {
                // No such collector.
                mark_to_drop(standard_metadata);
            }
            return;
        }
        bool has_int = meta.has_int == 1;
        if (!has_int && meta.mode == MODE_NONE) {
            return;
        }
        measure();
        mtus.apply();
        bool is_sink = false;
#ifndef NO_SINK
        is_sink = sink_ports.apply().hit;
#endif
        change_t change = { false, 0, 0, 0, 0, 0 };
        bool is_reported = false;
        bit<8> collector = meta.watch_collector;
        bit<16> instructions = meta.instructions;
        if (has_int) {
            bool is_mx = hdr.shim.type == INT_TYPE_MX;
            // The fields of another version are not known: this hop leaves them alone and reports nothing.
            bool is_known = hdr.md.version == INT_VERSION;
            instructions = hdr.md.instructions;
            meta.report.domain_id = hdr.md.domain_id;
            if (hdr.shim.npt != INT_NPT_UDP && hdr.shim.npt != INT_NPT_IP) {
                // At the UDP port of INT there is no other next protocol (INT 2.1 §5.7.2).
                int_packets.count(COUNT_NOT_UNDERSTOOD);
            } else if (is_sink) {
#ifndef NO_SINK
                int_packets.count(!is_known ? COUNT_NOT_UNDERSTOOD : (is_mx ? COUNT_SINK_MX : COUNT_SINK_MD));
                if (is_known && hdr.md.discard == 1) {
                    int_packets.count(COUNT_DISCARDED);
                    mark_to_drop(standard_metadata);
                }
                sink.apply(hdr, change);
                is_reported = is_known;
                collector = sink_collector;
#endif
            } else if (is_mx) {
                int_packets.count(is_known ? COUNT_TRANSIT_MX : COUNT_NOT_UNDERSTOOD);
                is_reported = is_known && meta.node_collector != 0;
                collector = meta.node_collector;
            } else if (hdr.shim.type == INT_TYPE_MD) {
                bit<32> what;
                transit.apply(hdr, meta, change, what);
                int_packets.count(what);
            } else {
                int_packets.count(COUNT_NOT_UNDERSTOOD);
            }
        } else if (meta.mode == MODE_XD || is_sink) {
            int_packets.count(COUNT_XD);
            is_reported = true;
        } else {
            source.apply(hdr, meta, change);
            if (!change.is_made) {
                int_packets.count(COUNT_NO_ROOM);
            } else if (meta.mode == MODE_MX) {
                int_packets.count(COUNT_SOURCE_MX);
                meta.ip_bytes = meta.ip_bytes + change.added;
                is_reported = true;
            } else {
                int_packets.count(COUNT_SOURCE_MD);
            }
        }
        if (is_reported) {
            send_report(collector, instructions);
        }
        if (change.is_made) {
            change_packet.apply(hdr, meta.report, change);
        }
    }
}

control IntComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.report_ipv4.isValid(),
            { hdr.report_ipv4.version, hdr.report_ipv4.ihl, hdr.report_ipv4.dscp, hdr.report_ipv4.ecn,
              hdr.report_ipv4.total_len, hdr.report_ipv4.identification, hdr.report_ipv4.reserved,
              hdr.report_ipv4.dont_fragment, hdr.report_ipv4.more_fragments, hdr.report_ipv4.frag_offset,
              hdr.report_ipv4.ttl, hdr.report_ipv4.protocol, hdr.report_ipv4.src_addr, hdr.report_ipv4.dst_addr },
            hdr.report_ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control IntDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.report_ethernet);
        packet.emit(hdr.report_ipv4);
        packet.emit(hdr.report_udp);
        packet.emit(hdr.report_group);
        packet.emit(hdr.report_individual);
        packet.emit(hdr.report_int);
        packet.emit(hdr.report_ports);
        packet.emit(hdr.report_latency);
        packet.emit(hdr.report_queue);
        packet.emit(hdr.report_ingress_time);
        packet.emit(hdr.report_egress_time);
        packet.emit(hdr.report_drop);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv4_options);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.udp);
        packet.emit(hdr.shim);
        packet.emit(hdr.md);
        packet.emit(hdr.own_8);
        packet.emit(hdr.own_4);
        packet.emit(hdr.own_2);
        packet.emit(hdr.own_1);
#ifndef NO_SINK
        packet.emit(hdr.stack);
        packet.emit(hdr.report_stack);
#endif
    }
}

V1Switch(IntParser(), IntVerifyChecksum(), IntIngress(), IntEgress(), IntComputeChecksum(), IntDeparser()) main;
