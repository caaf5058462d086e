// Telemetry reports, made of clones in egress of int.p4.

#ifndef INT_REPORT_P4
#define INT_REPORT_P4

// Makes a clone a Telemetry Report.
control Report(inout headers_t hdr, inout metadata_t meta) {
    // Reports sent so far to each collector.
    register<bit<22>>(256) sequence;

    bit<16> snap_bytes = 0;

    // A collector, and the most bytes of a packet that go into a report.
    action set_collector(mac_address_t src_mac, mac_address_t dst_mac, ipv4_address_t src_addr, ipv4_address_t dst_addr,
                         bit<16> udp_port, bit<16> snap) {
        hdr.report_ethernet.setValid();
        hdr.report_ethernet.src_addr = src_mac;
        hdr.report_ethernet.dst_addr = dst_mac;
        hdr.report_ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.report_ipv4.setValid();
        hdr.report_ipv4.src_addr = src_addr;
        hdr.report_ipv4.dst_addr = dst_addr;
        hdr.report_udp.setValid();
        hdr.report_udp.src_port = udp_port;
        hdr.report_udp.dst_port = udp_port;
        snap_bytes = snap;
    }

    table collectors {
        key = {
            meta.report.collector: exact;
        }
        actions = {
            set_collector;
            NoAction;
        }
        default_action = NoAction();
        size = 256;
    }

#ifndef NO_SINK
    // The packet as it came to the sink.
    action restore() {
        hdr.udp = hdr.saved_udp;
        hdr.shim = hdr.saved_shim;
        hdr.md = hdr.saved_md;
        hdr.report_stack = hdr.saved_stack;
    }
#endif

    apply {
        if (!collectors.apply().hit) {
            return;
        }
#ifndef NO_SINK
        if (hdr.saved.isValid()) {
            restore();
            if (hdr.ipv4.isValid()) {
                hdr.ipv4.total_len = hdr.saved.ip_length;
                hdr.ipv4.hdr_checksum = hdr.saved.ip_checksum;
                hdr.ipv4.protocol = hdr.saved.next_protocol;
            } else {
                hdr.ipv6.payload_len = hdr.saved.ip_length;
                hdr.ipv6.next_header = hdr.saved.next_protocol;
            }
        }
#endif

        // The node is in the group header. Values that are not measured are left out.
        bit<16> md_bits = meta.report.instructions & 0x7c00;
        if (meta.report.drop_reason != DROP_NONE) {
            // A packet that is dropped in ingress has ports and ingress time. Bit 15: queue and drop reason.
            md_bits = md_bits & 0x4800 | 0x0001;
            hdr.report_drop.setValid();
            hdr.report_drop.value = meta.report.queue_id ++ meta.report.drop_reason ++ 16w0;
        }
        if (md_bits[14:14] == 1) {
            hdr.report_ports.setValid();
            hdr.report_ports.value = meta.report.ingress_port ++ meta.report.egress_port;
        }
        if (md_bits[13:13] == 1) {
            hdr.report_latency.setValid();
            hdr.report_latency.value = meta.report.latency;
        }
        if (md_bits[12:12] == 1) {
            hdr.report_queue.setValid();
            hdr.report_queue.value = meta.report.queue_id ++ meta.report.queue_depth;
        }
        if (md_bits[11:11] == 1) {
            hdr.report_ingress_time.setValid();
            hdr.report_ingress_time.value = meta.report.ingress_time;
        }
        if (md_bits[10:10] == 1) {
            hdr.report_egress_time.setValid();
            hdr.report_egress_time.value = meta.report.egress_time;
        }
        bit<8> words = instruction_words(md_bits);

        bit<16> inner = meta.report.inner_bytes;
        if (inner > snap_bytes) {
            inner = snap_bytes;
        }
        if (inner > SNAP_BYTES_MAX) {
            inner = SNAP_BYTES_MAX;
        }
        // Reports are whole words.
        inner = inner & 0xfffc;

        hdr.report_int.setValid();
        hdr.report_int.md_bits = md_bits;
        hdr.report_int.domain_id = meta.report.domain_id;
        hdr.report_int.ds_md_bits = 0;
        hdr.report_int.ds_md_status = 0;
        hdr.report_individual.setValid();
        // RepType INT; InType Ethernet: the truncated packet begins with its Ethernet header.
        hdr.report_individual.rep_type = 1;
        hdr.report_individual.in_type = 3;
        hdr.report_individual.report_length = 2 + words + (bit<8>) (inner >> 2);
        hdr.report_individual.md_length = words;
        hdr.report_individual.dropped = meta.report.drop_reason == DROP_NONE ? 1w0 : 1w1;
        hdr.report_individual.congested = meta.report.congested;
        hdr.report_individual.tracked = 1;
        hdr.report_individual.intermediate = 0;
        hdr.report_individual.reserved = 0;
        hdr.report_group.setValid();
        hdr.report_group.version = 2;
        hdr.report_group.hw_id = 0;
        hdr.report_group.node_id = meta.report.node_id;
        @atomic {
            bit<22> number;
            sequence.read(number, (bit<32>) meta.report.collector);
            hdr.report_group.sequence_number = number;
            sequence.write((bit<32>) meta.report.collector, number + 1);
        }

        bit<16> udp_bytes = UDP_BYTES + 20 + ((bit<16>) words << 2) + inner;
        hdr.report_udp.length_ = udp_bytes;
        hdr.report_udp.checksum = 0;
        hdr.report_ipv4.version = 4;
        hdr.report_ipv4.ihl = 5;
        hdr.report_ipv4.dscp = 0;
        hdr.report_ipv4.ecn = 0;
        hdr.report_ipv4.total_len = IPV4_BYTES + udp_bytes;
        hdr.report_ipv4.identification = 0;
        hdr.report_ipv4.reserved = 0;
        hdr.report_ipv4.dont_fragment = 1;
        hdr.report_ipv4.more_fragments = 0;
        hdr.report_ipv4.frag_offset = 0;
        hdr.report_ipv4.ttl = 64;
        hdr.report_ipv4.protocol = IP_PROTOCOL_UDP;
        truncate(REPORT_BYTES + ((bit<32>) words << 2) + (bit<32>) inner);
    }
}

#endif
