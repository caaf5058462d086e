// What source, transit hop and sink do to a packet, in egress of int.p4.

#ifndef INT_HOPS_P4
#define INT_HOPS_P4

// Words of 4 bytes that an instruction bitmap requests from each hop.
bit<8> instruction_words(in bit<16> bits) {
    return (bit<8>) bits[15:15] + (bit<8>) bits[14:14] + (bit<8>) bits[13:13] + (bit<8>) bits[12:12]
        + ((bit<8>) bits[11:11] << 1) + ((bit<8>) bits[10:10] << 1) + ((bit<8>) bits[9:9] << 1)
        + (bit<8>) bits[8:8] + (bit<8>) bits[7:7] + (bit<8>) bits[0:0];
}

// The sum of shim and INT header, for the checksum of UDP.
bit<32> int_words(in int_shim_t shim, in int_md_t md) {
    return (bit<32>) (shim.type ++ shim.npt ++ shim.reserved ++ shim.length_) + (bit<32>) shim.original
        + (bit<32>) (md.version ++ md.discard ++ md.hops_exceeded ++ md.mtu_exceeded ++ md.reserved[11:3])
        + (bit<32>) (md.reserved[2:0] ++ md.hop_ml ++ md.remaining_hops)
        + (bit<32>) md.instructions + (bit<32>) md.domain_id + (bit<32>) md.ds_instructions + (bit<32>) md.ds_flags;
}

// The metadata of this hop, up to 13 words: the last words of the four fields together, with zeros before them.
struct own_t {
    bit<32> first;
    bit<128> second;
    bit<128> third;
    bit<128> fourth;
}

// Gathers this hop's metadata in the order of the instruction bits, and adds them to a checksum. Values that the switch does
// not measure are all ones.
control GatherMetadata(in report_t report, in bit<16> instructions, inout own_t own, inout bit<32> sum) {
    apply {
        own = { 0, 0, 0, 0 };
        if (instructions[15:15] == 1) {
            own.fourth[31:0] = report.node_id;
        }
        if (instructions[14:14] == 1) {
            own.fourth = own.fourth[95:0] ++ report.ingress_port ++ report.egress_port;
        }
        if (instructions[13:13] == 1) {
            own.fourth = own.fourth[95:0] ++ report.latency;
        }
        if (instructions[12:12] == 1) {
            own.fourth = own.fourth[95:0] ++ report.queue_id ++ report.queue_depth;
        }
        if (instructions[11:11] == 1) {
            own.third = own.third[63:0] ++ own.fourth[127:64];
            own.fourth = own.fourth[63:0] ++ report.ingress_time;
        }
        if (instructions[10:10] == 1) {
            own.third = own.third[63:0] ++ own.fourth[127:64];
            own.fourth = own.fourth[63:0] ++ report.egress_time;
        }
        // Values of all ones, which follow, are a zero of ones' complement and add nothing to the sum.
        sum = sum + checksum_words128(own.third) + checksum_words128(own.fourth);
        if (instructions & UNMEASURED != 0) {
            if (instructions[9:9] == 1) {
                own.second = own.second[63:0] ++ own.third[127:64];
                own.third = own.third[63:0] ++ own.fourth[127:64];
                own.fourth = own.fourth[63:0] ++ 64w0xffffffffffffffff;
            }
            if (instructions[8:8] == 1) {
                own.second = own.second[95:0] ++ own.third[127:96];
                own.third = own.third[95:0] ++ own.fourth[127:96];
                own.fourth = own.fourth[95:0] ++ 32w0xffffffff;
            }
            if (instructions[7:7] == 1) {
                own.second = own.second[95:0] ++ own.third[127:96];
                own.third = own.third[95:0] ++ own.fourth[127:96];
                own.fourth = own.fourth[95:0] ++ 32w0xffffffff;
            }
            // The Checksum Complement: the checksum of UDP is updated instead.
            if (instructions[0:0] == 1) {
                own.first = own.second[127:96];
                own.second = own.second[95:0] ++ own.third[127:96];
                own.third = own.third[95:0] ++ own.fourth[127:96];
                own.fourth = own.fourth[95:0] ++ 32w0xffffffff;
            }
        }
    }
}

// Adds `words` words of metadata to the packet, in headers of 8, 4, 2 and 1 words: with a header for each value, the deparser
// would have a thousand paths.
control AddMetadata(inout headers_t hdr, in own_t own, in bit<8> words) {
    bit<128> second = own.second;
    bit<128> third = own.third;
    bit<128> fourth = own.fourth;

    apply {
        if (words[0:0] == 1) {
            hdr.own_1.setValid();
            hdr.own_1.value = fourth[31:0];
            fourth = third[31:0] ++ fourth[127:32];
            third = second[31:0] ++ third[127:32];
            second = own.first ++ second[127:32];
        }
        if (words[1:1] == 1) {
            hdr.own_2.setValid();
            hdr.own_2.value = fourth[63:0];
            fourth = third[63:0] ++ fourth[127:64];
            third = second[63:0] ++ third[127:64];
            second = second >> 64;
        }
        if (words[2:2] == 1) {
            hdr.own_4.setValid();
            hdr.own_4.value = fourth;
            fourth = third;
            third = second;
        }
        if (words[3:3] == 1) {
            hdr.own_8.setValid();
            hdr.own_8.first = third;
            hdr.own_8.last = fourth;
        }
    }
}

// What is to be changed in a packet besides the headers of INT.
struct change_t {
    bool is_made;
    // Words of this hop's metadata, and what they are.
    bit<8> own_words;
    bit<16> instructions;
    // Bytes that the packet gets, those words included.
    bit<16> added;
    // The protocol of IP.
    bit<8> protocol;
    // What is added to the checksum of UDP, besides the changes that follow from the other fields.
    bit<32> sum;
}

// Adds metadata, and writes lengths, protocol and checksums. Applied once, for every kind of hop: each copy makes the fast path larger.
control Change(inout headers_t hdr, in report_t report, in change_t change) {
    GatherMetadata() gather_metadata;
    AddMetadata() add_metadata;

    apply {
        own_t own = { 0, 0, 0, 0 };
        bit<32> sum = change.sum;
        bit<8> own_words = change.own_words;
        if (own_words != 0) {
            gather_metadata.apply(report, change.instructions, own, sum);
        }
        if (hdr.ipv4.isValid()) {
            bit<16> length_ = hdr.ipv4.total_len + change.added;
            bit<32> ip_sum = 0;
            if (change.added != 0) {
                ip_sum = checksum_replace(hdr.ipv4.total_len, length_);
            }
            if (change.protocol != hdr.ipv4.protocol) {
                ip_sum = ip_sum + checksum_replace(hdr.ipv4.ttl ++ hdr.ipv4.protocol, hdr.ipv4.ttl ++ change.protocol);
                hdr.ipv4.protocol = change.protocol;
            }
            hdr.ipv4.hdr_checksum = checksum_update(hdr.ipv4.hdr_checksum, ip_sum);
            hdr.ipv4.total_len = length_;
        } else {
            hdr.ipv6.payload_len = hdr.ipv6.payload_len + change.added;
            hdr.ipv6.next_header = change.protocol;
        }
        if (hdr.udp.isValid()) {
            bit<16> length_ = hdr.udp.length_ + change.added;
            // The length counts twice: in the header and in the pseudo header.
            sum = sum + (checksum_replace(hdr.udp.length_, length_) << 1);
            if (hdr.shim.isValid()) {
                sum = sum + int_words(hdr.shim, hdr.md);
            }
            hdr.udp.length_ = length_;
            hdr.udp.checksum = udp_checksum_update(hdr.udp.checksum, sum);
        }
        add_metadata.apply(hdr, own, own_words);
    }
}

// Makes a packet an INT packet, with the metadata of this hop in mode MD. A packet without room for INT stays as it is.
control Source(inout headers_t hdr, in metadata_t meta, inout change_t change) {
    apply {
        bool has_udp = hdr.udp.isValid();
        bit<8> words = instruction_words(meta.instructions);
        bit<16> fixed = INT_FIXED_BYTES + (has_udp ? 16w0 : UDP_BYTES);
        if ((bit<32>) meta.ip_bytes + (bit<32>) fixed > (bit<32>) meta.mtu) {
            return;
        }
        change.is_made = true;
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
        if (meta.mode == MODE_MX) {
            hdr.shim.type = INT_TYPE_MX;
        } else {
            hdr.shim.type = INT_TYPE_MD;
            hdr.md.hop_ml = (bit<5>) words;
            hdr.md.remaining_hops = meta.max_hops;
            if (meta.max_hops != 0) {
                if ((bit<32>) meta.ip_bytes + (bit<32>) fixed + ((bit<32>) words << 2) > (bit<32>) meta.mtu) {
                    hdr.md.mtu_exceeded = 1;
                } else {
                    change.own_words = words;
                    hdr.md.remaining_hops = meta.max_hops - 1;
                }
            }
        }
        hdr.shim.length_ = 3 + change.own_words;
        change.instructions = meta.instructions;
        change.added = fixed + ((bit<16>) change.own_words << 2);
        change.protocol = IP_PROTOCOL_UDP;
        if (has_udp) {
            hdr.shim.npt = INT_NPT_UDP;
            hdr.shim.original = hdr.udp.dst_port;
            change.sum = checksum_replace(hdr.udp.dst_port, INT_UDP_PORT);
        } else {
            hdr.shim.npt = INT_NPT_IP;
            hdr.udp.setValid();
            // The port is entropy for devices that spread flows by ports, in the range of RFC 6335's dynamic ports. The length
            // is that of the bytes after the IP header before INT is added; `change.added` has those of this header, too.
            if (hdr.ipv4.isValid()) {
                hdr.shim.original = (bit<16>) hdr.ipv4.protocol;
                hash(hdr.udp.src_port, HashAlgorithm.crc16, 16w0xc000,
                     { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, meta.src_port, meta.dst_port, hdr.ipv4.protocol }, 16w0x4000);
                hdr.udp.length_ = meta.ip_bytes - ((bit<16>) hdr.ipv4.ihl << 2);
            } else {
                hdr.shim.original = (bit<16>) hdr.ipv6.next_header;
                hash(hdr.udp.src_port, HashAlgorithm.crc16, 16w0xc000,
                     { hdr.ipv6.src_addr, hdr.ipv6.dst_addr, meta.src_port, meta.dst_port, hdr.ipv6.next_header }, 16w0x4000);
                hdr.udp.length_ = meta.ip_bytes - IPV6_BYTES;
            }
            hdr.udp.checksum = 0;
        }
        hdr.udp.dst_port = INT_UDP_PORT;
    }
}

// Requests this hop's metadata for an INT-MD packet, or sets the flag in the INT header that says why there are none.
control Transit(inout headers_t hdr, in metadata_t meta, inout change_t change, out bit<32> what) {
    apply {
        bit<8> words = instruction_words(hdr.md.instructions);
        what = COUNT_TRANSIT_MD;
        if (hdr.md.version != INT_VERSION || (bit<8>) hdr.md.hop_ml != words || hdr.md.instructions[6:1] != 0
            || hdr.md.ds_instructions != 0) {
            // Another version, unknown instructions, or domain-specific metadata: this hop adds nothing.
            what = COUNT_NOT_UNDERSTOOD;
            return;
        }
        change.is_made = true;
        change.protocol = IP_PROTOCOL_UDP;
        change.sum = (bit<32>) ~checksum_fold(int_words(hdr.shim, hdr.md));
        if (hdr.md.remaining_hops == 0) {
            hdr.md.hops_exceeded = 1;
            what = COUNT_HOPS_EXCEEDED;
        } else if ((bit<32>) meta.ip_bytes + ((bit<32>) words << 2) > (bit<32>) meta.mtu
                   || (bit<16>) hdr.shim.length_ + (bit<16>) words > 255) {
            hdr.md.mtu_exceeded = 1;
            what = COUNT_MTU_EXCEEDED;
        } else {
            change.own_words = words;
            change.instructions = hdr.md.instructions;
            change.added = (bit<16>) words << 2;
            hdr.md.remaining_hops = hdr.md.remaining_hops - 1;
            hdr.shim.length_ = hdr.shim.length_ + words;
        }
    }
}

#ifndef NO_SINK

// Removes INT from a packet. The headers as they came are saved for the report.
control Sink(inout headers_t hdr, inout change_t change) {
    apply {
        hdr.saved.setValid();
        hdr.saved.next_protocol = hdr.ipv4.isValid() ? hdr.ipv4.protocol : hdr.ipv6.next_header;
        hdr.saved.ip_length = hdr.ipv4.isValid() ? hdr.ipv4.total_len : hdr.ipv6.payload_len;
        hdr.saved.ip_checksum = hdr.ipv4.isValid() ? hdr.ipv4.hdr_checksum : 0;
        hdr.saved_udp = hdr.udp;
        hdr.saved_shim = hdr.shim;
        hdr.saved_md = hdr.md;
        hdr.saved_stack = hdr.stack;

        change.is_made = true;
        bit<16> removed = ((bit<16>) hdr.shim.length_ << 2) + 4;
        if (hdr.shim.npt == INT_NPT_IP) {
            removed = removed + UDP_BYTES;
            change.protocol = hdr.shim.original[7:0];
            hdr.udp.setInvalid();
        } else {
            change.protocol = IP_PROTOCOL_UDP;
            // The complement of the sum of the stack: what its removal adds.
            bit<16> stack;
            hash(stack, HashAlgorithm.csum16, 16w0, { hdr.stack.metadata }, 32w0x10000);
            change.sum = (bit<32>) stack + (bit<32>) ~checksum_fold(int_words(hdr.shim, hdr.md))
                + checksum_replace(INT_UDP_PORT, hdr.shim.original);
            hdr.udp.dst_port = hdr.shim.original;
        }
        change.added = 0 - removed;
        hdr.shim.setInvalid();
        hdr.md.setInvalid();
        hdr.stack.setInvalid();
    }
}

#endif

#endif
