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
    Sink() sink;
    Report() report;

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

    // Has a clone of the packet sent as a report.
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
        bool is_sink = sink_ports.apply().hit;
        if (has_int) {
            bool is_mx = hdr.shim.type == INT_TYPE_MX;
            bool discard = hdr.md.discard == 1;
            // The fields of another version are not known: this hop leaves them alone and reports nothing.
            bool is_known = hdr.md.version == INT_VERSION;
            bit<16> instructions = hdr.md.instructions;
            meta.report.domain_id = hdr.md.domain_id;
            if (hdr.shim.npt != INT_NPT_UDP && hdr.shim.npt != INT_NPT_IP) {
                // Behind the port of INT there is no other next protocol (§5.7.2).
                int_packets.count(COUNT_NOT_UNDERSTOOD);
            } else if (is_sink) {
                int_packets.count(!is_known ? COUNT_NOT_UNDERSTOOD : (is_mx ? COUNT_SINK_MX : COUNT_SINK_MD));
                sink.apply(hdr);
                if (is_known) {
                    send_report(sink_collector, instructions);
                }
                if (is_known && discard) {
                    int_packets.count(COUNT_DISCARDED);
                    mark_to_drop(standard_metadata);
                }
            } else if (is_mx) {
                int_packets.count(is_known ? COUNT_TRANSIT_MX : COUNT_NOT_UNDERSTOOD);
                if (is_known && meta.node_collector != 0) {
                    send_report(meta.node_collector, instructions);
                }
            } else if (hdr.shim.type == INT_TYPE_MD) {
                bit<32> what;
                transit.apply(hdr, meta, what);
                int_packets.count(what);
            } else {
                int_packets.count(COUNT_NOT_UNDERSTOOD);
            }
        } else if (meta.mode == MODE_XD || is_sink) {
            int_packets.count(COUNT_XD);
            send_report(meta.watch_collector, meta.instructions);
        } else {
            bool done;
            source.apply(hdr, meta, done);
            if (!done) {
                int_packets.count(COUNT_NO_ROOM);
            } else if (meta.mode == MODE_MX) {
                int_packets.count(COUNT_SOURCE_MX);
                meta.ip_bytes = meta.ip_bytes + INT_FIXED_BYTES + (hdr.shim.npt == INT_NPT_IP ? UDP_BYTES : 16w0);
                send_report(meta.watch_collector, meta.instructions);
            } else {
                int_packets.count(COUNT_SOURCE_MD);
            }
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
        packet.emit(hdr.own_node);
        packet.emit(hdr.own_ports);
        packet.emit(hdr.own_latency);
        packet.emit(hdr.own_queue);
        packet.emit(hdr.own_ingress_time);
        packet.emit(hdr.own_egress_time);
        packet.emit(hdr.own_level2);
        packet.emit(hdr.own_utilization);
        packet.emit(hdr.own_buffer);
        packet.emit(hdr.own_complement);
        packet.emit(hdr.stack);
    }
}

V1Switch(IntParser(), IntVerifyChecksum(), IntIngress(), IntEgress(), IntComputeChecksum(), IntDeparser()) main;
