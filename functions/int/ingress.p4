// Ingress of int.p4: forwarding, watch lists, drops and their reports.

#ifndef INT_INGRESS_P4
#define INT_INGRESS_P4

// Chooses the egress port: by the destination address, else by the ingress port (table `wire`).
control Forward(in headers_t hdr, inout standard_metadata_t standard_metadata, out bool found) {
    action to_port(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action to_group(bit<16> group) {
        standard_metadata.mcast_grp = group;
    }

    table dst_mac {
        key = {
            hdr.ethernet.dst_addr: exact;
        }
        actions = {
            to_port;
            to_group;
            NoAction;
        }
        default_action = NoAction();
        size = 65536;
    }

    table wire {
        key = {
            standard_metadata.ingress_port: exact;
        }
        actions = {
            to_port;
            to_group;
            NoAction;
        }
        default_action = NoAction();
        size = 512;
    }

    apply {
        found = true;
        if (!dst_mac.apply().hit) {
            found = wire.apply().hit;
        }
    }
}

// Which packets without INT are watched, and how.
control Watch(in headers_t hdr, inout metadata_t meta, in standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) ipv4_hits;
    direct_counter(CounterType.packets_and_bytes) ipv6_hits;

    // Embed data: every hop adds the metadata of `instructions`, `max_hops` hops at most.
    action embed_data(bit<16> instructions, bit<8> max_hops, bit<8> collector) {
        meta.mode = MODE_MD;
        meta.instructions = instructions;
        meta.max_hops = max_hops;
        meta.watch_collector = collector;
    }

    // Embed instructions: every hop reports the metadata of `instructions` itself.
    action embed_instructions(bit<16> instructions, bit<8> collector) {
        meta.mode = MODE_MX;
        meta.instructions = instructions;
        meta.watch_collector = collector;
    }

    // Export data: this node reports, the packet stays as it is.
    action export_data(bit<16> instructions, bit<8> collector) {
        meta.mode = MODE_XD;
        meta.instructions = instructions;
        meta.watch_collector = collector;
    }

    // Nothing but reports of drops.
    action drops_only(bit<16> instructions, bit<8> collector) {
        meta.instructions = instructions;
        meta.watch_collector = collector;
    }

    table watch_ipv4 {
        key = {
            hdr.ipv4.src_addr: ternary;
            hdr.ipv4.dst_addr: ternary;
            meta.protocol: ternary;
            hdr.ipv4.dscp: ternary;
            meta.src_port: ternary;
            meta.dst_port: ternary;
            standard_metadata.ingress_port: ternary;
        }
        actions = {
            embed_data;
            embed_instructions;
            export_data;
            drops_only;
            NoAction;
        }
        default_action = NoAction();
        counters = ipv4_hits;
        size = 4096;
    }

    table watch_ipv6 {
        key = {
            hdr.ipv6.src_addr: ternary;
            hdr.ipv6.dst_addr: ternary;
            meta.protocol: ternary;
            hdr.ipv6.dscp: ternary;
            meta.src_port: ternary;
            meta.dst_port: ternary;
            standard_metadata.ingress_port: ternary;
        }
        actions = {
            embed_data;
            embed_instructions;
            export_data;
            drops_only;
            NoAction;
        }
        default_action = NoAction();
        counters = ipv6_hits;
        size = 4096;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            if (hdr.ipv4.more_fragments == 0 && hdr.ipv4.frag_offset == 0) {
                watch_ipv4.apply();
            }
        } else if (hdr.ipv6.isValid() && hdr.ipv6.next_header != IP_PROTOCOL_HOP_BY_HOP
            && hdr.ipv6.next_header != IP_PROTOCOL_ROUTING && hdr.ipv6.next_header != IP_PROTOCOL_FRAGMENT
            && hdr.ipv6.next_header != IP_PROTOCOL_DESTINATION) {
            // Behind headers of INT no router would find extension headers.
            watch_ipv6.apply();
        }
    }
}

control IntIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Forward() forward;
    Watch() watch;

    // `time_base` (nanoseconds) is added to the node's times. `collector` gets its MX and drop reports; 0 for none. A queue of
    // `congestion_depth` packets or more counts as congested.
    action set_node(bit<32> node_id, bit<64> time_base, bit<8> collector, bit<24> congestion_depth) {
        meta.report.node_id = node_id;
        meta.time_base = time_base;
        meta.node_collector = collector;
        meta.congestion_depth = congestion_depth;
    }

    table node {
        key = {}
        actions = {
            set_node;
        }
        default_action = set_node(0, 0, 0, 0xffffff);
    }

    // Ports from which INT is accepted. INT from other ports is dropped: hosts must not write into the telemetry.
    table int_ports {
        key = {
            standard_metadata.ingress_port: exact;
        }
        actions = {
            NoAction;
        }
        size = 512;
    }

    action deny() {
        meta.report.drop_reason = DROP_DENIED;
    }

    direct_counter(CounterType.packets) denied;

    // IPv4 packets that are dropped.
    table acl {
        key = {
            hdr.ipv4.src_addr: ternary;
            hdr.ipv4.dst_addr: ternary;
            meta.protocol: ternary;
            meta.dst_port: ternary;
            standard_metadata.ingress_port: ternary;
        }
        actions = {
            deny;
            NoAction;
        }
        default_action = NoAction();
        counters = denied;
        size = 1024;
    }

    @element_names("none", "malformed", "no forwarding entry", "denied", "untrusted INT")
    counter(DROPS, CounterType.packets) drops;

    // Drops the packet; a clone reports it when its flow is watched or it has INT.
    action drop() {
        drops.count((bit<32>) meta.report.drop_reason);
        mark_to_drop(standard_metadata);
    }

    apply {
        node.apply();
        bool found;
        forward.apply(hdr, standard_metadata, found);
        if (!hdr.ethernet.isValid() || standard_metadata.parser_error != error.NoError) {
            meta.report.drop_reason = DROP_MALFORMED;
            drop();
            return;
        }
        if (hdr.vlan[1].isValid()) {
            meta.layer2_bytes = 22;
        } else if (hdr.vlan[0].isValid()) {
            meta.layer2_bytes = 18;
        } else {
            meta.layer2_bytes = 14;
        }

#ifdef NO_SINK
        // The metadata of other hops are not parsed, but must be within the packet.
        bit<32> int_end = (bit<32>) meta.layer2_bytes + (bit<32>) UDP_BYTES + 4 + ((bit<32>) hdr.shim.length_ << 2)
            + (hdr.ipv4.isValid() ? (bit<32>) hdr.ipv4.ihl << 2 : (bit<32>) IPV6_BYTES);
        if (hdr.shim.isValid() && int_end > standard_metadata.packet_length) {
            meta.report.drop_reason = DROP_MALFORMED;
            drop();
            return;
        }
#endif

        // A packet whose IP length is more than its frame is forwarded, but never measured.
        bool is_ip = hdr.ipv4.isValid() || hdr.ipv6.isValid();
        bool is_whole = is_ip
            && (bit<32>) meta.layer2_bytes + (bit<32>) meta.ip_bytes <= standard_metadata.packet_length;
        if (hdr.md.isValid() && is_whole) {
            // INT is within its datagram: a sink that removes more than there is would leave lengths below zero.
            bit<32> int_bytes = (bit<32>) UDP_BYTES + 4 + ((bit<32>) hdr.shim.length_ << 2);
            bit<32> ip_header_bytes = hdr.ipv4.isValid() ? (bit<32>) hdr.ipv4.ihl << 2 : (bit<32>) IPV6_BYTES;
            if (int_bytes > (bit<32>) hdr.udp.length_ || ip_header_bytes + int_bytes > (bit<32>) meta.ip_bytes) {
                meta.report.drop_reason = DROP_MALFORMED;
                drop();
                return;
            }
            meta.has_int = 1;
            // Drops of packets that other nodes watch are reported to this node's collector.
            meta.watch_collector = meta.node_collector;
            meta.instructions = hdr.md.instructions;
            if (int_ports.apply().miss) {
                meta.report.drop_reason = DROP_UNTRUSTED_INT;
                meta.watch_collector = 0;
            }
        } else if (is_whole) {
            watch.apply(hdr, meta, standard_metadata);
        }
        if (meta.report.drop_reason == DROP_NONE) {
            if (hdr.ipv4.isValid()) {
                acl.apply();
            }
            if (meta.report.drop_reason == DROP_NONE && !found) {
                meta.report.drop_reason = DROP_NO_FORWARDING;
            }
        }
        if (meta.report.drop_reason != DROP_NONE) {
            meta.report.collector = meta.watch_collector;
            if (meta.watch_collector != 0) {
                meta.report.instructions = meta.instructions;
                meta.report.ingress_port = (bit<16>) standard_metadata.ingress_port;
                // It left by none (INT 2.1 §5.8: all ones for values that are not available).
                meta.report.egress_port = 0xffff;
                meta.report.ingress_time = (bit<64>) standard_metadata.ingress_global_timestamp * 1000 + meta.time_base;
                meta.report.inner_bytes = meta.layer2_bytes + meta.ip_bytes;
                meta.report.queue_id = (bit<8>) standard_metadata.priority;
                clone_preserving_field_list(CloneType.I2E, (bit<32>) meta.watch_collector, REPORT_FIELDS);
            }
            drop();
        }
    }
}

#endif
