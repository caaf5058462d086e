// What source, transit hop and sink do to a packet, in egress of int.p4.

#ifndef INT_HOPS_P4
#define INT_HOPS_P4

// Words of 4 bytes that an instruction bitmap asks of a hop.
bit<8> instruction_words(in bit<16> bits) {
    return (bit<8>) bits[15:15] + (bit<8>) bits[14:14] + (bit<8>) bits[13:13] + (bit<8>) bits[12:12]
        + ((bit<8>) bits[11:11] << 1) + ((bit<8>) bits[10:10] << 1) + ((bit<8>) bits[9:9] << 1)
        + (bit<8>) bits[8:8] + (bit<8>) bits[7:7] + (bit<8>) bits[0:0];
}

// What the checksum of UDP covers of shim and INT header.
bit<32> int_words(in int_shim_t shim, in int_md_t md) {
    return (bit<32>) (shim.type ++ shim.npt ++ shim.reserved ++ shim.length_) + (bit<32>) shim.original
        + (bit<32>) (md.version ++ md.discard ++ md.hops_exceeded ++ md.mtu_exceeded ++ md.reserved[11:3])
        + (bit<32>) (md.reserved[2:0] ++ md.hop_ml ++ md.remaining_hops)
        + (bit<32>) md.instructions + (bit<32>) md.domain_id + (bit<32>) md.ds_instructions + (bit<32>) md.ds_flags;
}

// This hop's metadata, in the order of the instruction bits, and what they add to a checksum. What the switch does not
// measure is all ones.
control AddMetadata(inout headers_t hdr, in metadata_t meta, in bit<16> instructions, out bit<32> sum) {
    apply {
        sum = 0;
        if (instructions[15:15] == 1) {
            hdr.own_node.setValid();
            hdr.own_node.value = meta.report.node_id;
            sum = sum + checksum_words32(hdr.own_node.value);
        }
        if (instructions[14:14] == 1) {
            hdr.own_ports.setValid();
            hdr.own_ports.value = meta.report.ingress_port ++ meta.report.egress_port;
            sum = sum + checksum_words32(hdr.own_ports.value);
        }
        if (instructions[13:13] == 1) {
            hdr.own_latency.setValid();
            hdr.own_latency.value = meta.report.latency;
            sum = sum + checksum_words32(hdr.own_latency.value);
        }
        if (instructions[12:12] == 1) {
            hdr.own_queue.setValid();
            hdr.own_queue.value = meta.report.queue_id ++ meta.report.queue_depth;
            sum = sum + checksum_words32(hdr.own_queue.value);
        }
        if (instructions[11:11] == 1) {
            hdr.own_ingress_time.setValid();
            hdr.own_ingress_time.value = meta.report.ingress_time;
            sum = sum + checksum_words64(hdr.own_ingress_time.value);
        }
        if (instructions[10:10] == 1) {
            hdr.own_egress_time.setValid();
            hdr.own_egress_time.value = meta.report.egress_time;
            sum = sum + checksum_words64(hdr.own_egress_time.value);
        }
        // All ones are a zero of ones' complement: they add nothing.
        if (instructions[9:9] == 1) {
            hdr.own_level2.setValid();
            hdr.own_level2.value = 0xffffffffffffffff;
        }
        if (instructions[8:8] == 1) {
            hdr.own_utilization.setValid();
            hdr.own_utilization.value = 0xffffffff;
        }
        if (instructions[7:7] == 1) {
            hdr.own_buffer.setValid();
            hdr.own_buffer.value = 0xffffffff;
        }
        // The checksum of UDP is updated instead.
        if (instructions[0:0] == 1) {
            hdr.own_complement.setValid();
            hdr.own_complement.value = 0xffffffff;
        }
    }
}

// The lengths of IP and UDP after `added` bytes, with the checksums that cover them.
control Lengthen(inout headers_t hdr, in bit<16> added) {
    apply {
        if (hdr.ipv4.isValid()) {
            bit<16> length_ = hdr.ipv4.total_len + added;
            hdr.ipv4.hdr_checksum = checksum_update(hdr.ipv4.hdr_checksum, checksum_replace(hdr.ipv4.total_len, length_));
            hdr.ipv4.total_len = length_;
        } else {
            hdr.ipv6.payload_len = hdr.ipv6.payload_len + added;
        }
        hdr.udp.length_ = hdr.udp.length_ + added;
    }
}

// Writes the protocol of the IP header.
control SetProtocol(inout headers_t hdr, in bit<8> protocol) {
    apply {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.hdr_checksum = checksum_update(hdr.ipv4.hdr_checksum,
                checksum_replace(hdr.ipv4.ttl ++ hdr.ipv4.protocol, hdr.ipv4.ttl ++ protocol));
            hdr.ipv4.protocol = protocol;
        } else {
            hdr.ipv6.next_header = protocol;
        }
    }
}

// Makes a packet an INT packet, with the metadata of this hop in mode MD.
control Source(inout headers_t hdr, inout metadata_t meta, out bool done) {
    AddMetadata() add_metadata;
    Lengthen() lengthen;
    SetProtocol() set_protocol;

    apply {
        bool has_udp = hdr.udp.isValid();
        bit<8> words = instruction_words(meta.instructions);
        bit<16> fixed = INT_FIXED_BYTES + (has_udp ? 16w0 : UDP_BYTES);
        done = (bit<32>) meta.ip_bytes + (bit<32>) fixed <= (bit<32>) meta.mtu;
        if (!done) {
            return;
        }
        bit<8> protocol = hdr.ipv4.isValid() ? hdr.ipv4.protocol : hdr.ipv6.next_header;
        bit<16> own = 0;
        hdr.shim.setValid();
        hdr.md.setValid();
        hdr.shim.reserved = 0;
        hdr.md.version = INT_VERSION;
        hdr.md.discard = 0;
        hdr.md.hops_exceeded = 0;
        hdr.md.mtu_exceeded = 0;
        hdr.md.reserved = 0;
        hdr.md.hop_ml = 0;
        hdr.md.remaining_hops = 0;
        hdr.md.instructions = meta.instructions;
        hdr.md.domain_id = 0;
        hdr.md.ds_instructions = 0;
        hdr.md.ds_flags = 0;
        bit<32> sum = 0;
        if (meta.mode == MODE_MX) {
            hdr.shim.type = INT_TYPE_MX;
        } else {
            hdr.shim.type = INT_TYPE_MD;
            hdr.md.hop_ml = (bit<5>) words;
            hdr.md.remaining_hops = meta.max_hops;
            own = (bit<16>) words << 2;
            if (meta.max_hops == 0) {
                own = 0;
            } else if ((bit<32>) meta.ip_bytes + (bit<32>) fixed + (bit<32>) own > (bit<32>) meta.mtu) {
                own = 0;
                hdr.md.mtu_exceeded = 1;
            } else {
                hdr.md.remaining_hops = meta.max_hops - 1;
                add_metadata.apply(hdr, meta, meta.instructions, sum);
            }
        }
        hdr.shim.length_ = 3 + (bit<8>) (own >> 2);
        if (has_udp) {
            hdr.shim.npt = INT_NPT_UDP;
            hdr.shim.original = hdr.udp.dst_port;
            bit<16> before = hdr.udp.length_;
            lengthen.apply(hdr, INT_FIXED_BYTES + own);
            // The length counts twice: in the header and in the pseudo header.
            sum = sum + int_words(hdr.shim, hdr.md) + checksum_replace(hdr.udp.dst_port, INT_UDP_PORT)
                + checksum_replace(before, hdr.udp.length_) + checksum_replace(before, hdr.udp.length_);
            hdr.udp.checksum = udp_checksum_update(hdr.udp.checksum, sum);
        } else {
            hdr.shim.npt = INT_NPT_IP;
            hdr.shim.original = (bit<16>) protocol;
            hdr.udp.setValid();
            // Entropy for those who spread flows by ports.
            hash(hdr.udp.src_port, HashAlgorithm.crc16, 16w0xc000,
                 { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, meta.src_port, meta.dst_port, protocol }, 16w0x4000);
            // What follows the IP header until now.
            hdr.udp.length_ = meta.ip_bytes
                - (hdr.ipv4.isValid() ? (bit<16>) hdr.ipv4.ihl << 2 : IPV6_BYTES);
            hdr.udp.checksum = 0;
            lengthen.apply(hdr, fixed + own);
            set_protocol.apply(hdr, IP_PROTOCOL_UDP);
        }
        hdr.udp.dst_port = INT_UDP_PORT;
    }
}

// Adds this hop's metadata to an INT-MD packet, or says in the header why not.
control Transit(inout headers_t hdr, inout metadata_t meta, out bit<32> what) {
    AddMetadata() add_metadata;
    Lengthen() lengthen;

    apply {
        bit<8> words = instruction_words(hdr.md.instructions);
        bit<16> own = (bit<16>) words << 2;
        bit<32> sum = 0;
        bit<32> before = int_words(hdr.shim, hdr.md);
        bit<16> udp_length = hdr.udp.length_;
        what = COUNT_TRANSIT_MD;
        if (hdr.md.version != INT_VERSION || (bit<8>) hdr.md.hop_ml != words || hdr.md.instructions[6:1] != 0
            || hdr.md.ds_instructions != 0) {
            // Instructions that this hop does not know, or metadata of a domain: it adds nothing.
            what = COUNT_NOT_UNDERSTOOD;
            return;
        }
        if (hdr.md.remaining_hops == 0) {
            hdr.md.hops_exceeded = 1;
            what = COUNT_HOPS_EXCEEDED;
        } else if ((bit<32>) meta.ip_bytes + (bit<32>) own > (bit<32>) meta.mtu
                   || (bit<16>) hdr.shim.length_ + (bit<16>) words > 255) {
            hdr.md.mtu_exceeded = 1;
            what = COUNT_MTU_EXCEEDED;
        } else {
            add_metadata.apply(hdr, meta, hdr.md.instructions, sum);
            hdr.md.remaining_hops = hdr.md.remaining_hops - 1;
            hdr.shim.length_ = hdr.shim.length_ + words;
            lengthen.apply(hdr, own);
        }
        sum = sum + int_words(hdr.shim, hdr.md) + checksum_replace((bit<16>) checksum_fold(before), 0)
            + checksum_replace(udp_length, hdr.udp.length_) + checksum_replace(udp_length, hdr.udp.length_);
        hdr.udp.checksum = udp_checksum_update(hdr.udp.checksum, sum);
    }
}

// Takes INT out of a packet. What it looked like is kept for the report.
control Sink(inout headers_t hdr) {
    Lengthen() lengthen;
    SetProtocol() set_protocol;

    apply {
        hdr.saved.setValid();
        hdr.saved.next_protocol = hdr.ipv4.isValid() ? hdr.ipv4.protocol : hdr.ipv6.next_header;
        hdr.saved.ip_length = hdr.ipv4.isValid() ? hdr.ipv4.total_len : hdr.ipv6.payload_len;
        hdr.saved.ip_checksum = hdr.ipv4.isValid() ? hdr.ipv4.hdr_checksum : 0;
        hdr.saved_udp = hdr.udp;
        hdr.saved_shim = hdr.shim;
        hdr.saved_md = hdr.md;
        hdr.saved_stack = hdr.stack;

        bit<16> removed = ((bit<16>) hdr.shim.length_ << 2) + 4;
        if (hdr.shim.npt == INT_NPT_IP) {
            lengthen.apply(hdr, 0 - removed - UDP_BYTES);
            set_protocol.apply(hdr, hdr.shim.original[7:0]);
            hdr.udp.setInvalid();
        } else {
            bit<16> before = hdr.udp.length_;
            // The complement of the sum of the stack: what its removal adds.
            bit<16> stack;
            hash(stack, HashAlgorithm.csum16, 16w0, { hdr.stack.metadata }, 32w0x10000);
            lengthen.apply(hdr, 0 - removed);
            bit<32> sum = (bit<32>) stack + checksum_replace(checksum_fold(int_words(hdr.shim, hdr.md)), 0)
                + checksum_replace(before, hdr.udp.length_) + checksum_replace(before, hdr.udp.length_)
                + checksum_replace(INT_UDP_PORT, hdr.shim.original);
            hdr.udp.checksum = udp_checksum_update(hdr.udp.checksum, sum);
            hdr.udp.dst_port = hdr.shim.original;
        }
        hdr.shim.setInvalid();
        hdr.md.setInvalid();
        hdr.stack.setInvalid();
    }
}

#endif
