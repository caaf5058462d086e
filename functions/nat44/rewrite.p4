// Writes the new addresses and ports of a packet, and updates all checksums that cover them.

#ifndef NAT44_REWRITE_P4
#define NAT44_REWRITE_P4

#include "packet.p4"

control Rewrite(inout headers_t hdr, in metadata_t meta) {
    apply {
        bit<32> addresses = 0;
        bit<32> ports = 0;
        if (meta.source_changes == 1) {
            addresses = checksum_replace32(hdr.ipv4.src_addr, meta.new_source.addr);
            hdr.ipv4.src_addr = meta.new_source.addr;
            ports = checksum_replace(meta.source.port, meta.new_source.port);
        }
        if (meta.destination_changes == 1) {
            addresses = addresses + checksum_replace32(hdr.ipv4.dst_addr, meta.new_destination.addr);
            hdr.ipv4.dst_addr = meta.new_destination.addr;
            ports = ports + checksum_replace(meta.destination.port, meta.new_destination.port);
        }
        hdr.ipv4.hdr_checksum = checksum_update(hdr.ipv4.hdr_checksum, addresses
            + checksum_replace(hdr.ipv4.ttl ++ hdr.ipv4.protocol, (hdr.ipv4.ttl - 1) ++ hdr.ipv4.protocol));
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;

        if (hdr.tcp.isValid()) {
            hdr.tcp.checksum = checksum_update(hdr.tcp.checksum, addresses + ports);
            if (meta.source_changes == 1) {
                hdr.tcp.src_port = meta.new_source.port;
            }
            if (meta.destination_changes == 1) {
                hdr.tcp.dst_port = meta.new_destination.port;
            }
        } else if (hdr.udp.isValid()) {
            hdr.udp.checksum = udp_checksum_update(hdr.udp.checksum, addresses + ports);
            if (meta.source_changes == 1) {
                hdr.udp.src_port = meta.new_source.port;
            }
            if (meta.destination_changes == 1) {
                hdr.udp.dst_port = meta.new_destination.port;
            }
        } else if (meta.kind == KIND_REQUEST || meta.kind == KIND_REPLY) {
            hdr.icmp.checksum = checksum_update(hdr.icmp.checksum, ports);
            if (meta.source_changes == 1) {
                hdr.icmp.rest[31:16] = meta.new_source.port;
            }
            if (meta.destination_changes == 1) {
                hdr.icmp.rest[31:16] = meta.new_destination.port;
            }
        } else if (meta.kind == KIND_ERROR) {
            // The quoted packet went the other way.
            bit<32> inner_addresses = 0;
            bit<32> inner_ports = 0;
            bit<16> source_port = hdr.inner_transport.first;
            bit<16> destination_port = hdr.inner_transport.second;
            if (meta.source_changes == 1) {
                inner_addresses = checksum_replace32(hdr.inner_ipv4.dst_addr, meta.new_source.addr);
                hdr.inner_ipv4.dst_addr = meta.new_source.addr;
                inner_ports = checksum_replace(meta.source.port, meta.new_source.port);
                destination_port = meta.new_source.port;
            }
            if (meta.destination_changes == 1) {
                inner_addresses = inner_addresses + checksum_replace32(hdr.inner_ipv4.src_addr, meta.new_destination.addr);
                hdr.inner_ipv4.src_addr = meta.new_destination.addr;
                inner_ports = inner_ports + checksum_replace(meta.destination.port, meta.new_destination.port);
                source_port = meta.new_destination.port;
            }
            bit<16> header_checksum = checksum_update(hdr.inner_ipv4.hdr_checksum, inner_addresses);
            bit<32> inner = inner_addresses + inner_ports + checksum_replace(hdr.inner_ipv4.hdr_checksum, header_checksum);
            hdr.inner_ipv4.hdr_checksum = header_checksum;
            if (meta.protocol == IP_PROTOCOL_ICMP) {
                bit<16> checksum = checksum_update(hdr.inner_transport.second, inner_ports);
                inner = inner + checksum_replace(hdr.inner_transport.second, checksum);
                hdr.inner_transport.second = checksum;
                if (meta.source_changes == 1) {
                    hdr.inner_transport.third = meta.new_source.port;
                } else if (meta.destination_changes == 1) {
                    hdr.inner_transport.third = meta.new_destination.port;
                }
            } else {
                if (meta.protocol == IP_PROTOCOL_UDP) {
                    bit<16> checksum = udp_checksum_update(hdr.inner_transport.fourth, inner_addresses + inner_ports);
                    inner = inner + checksum_replace(hdr.inner_transport.fourth, checksum);
                    hdr.inner_transport.fourth = checksum;
                }
                hdr.inner_transport.first = source_port;
                hdr.inner_transport.second = destination_port;
            }
            hdr.icmp.checksum = checksum_update(hdr.icmp.checksum, inner);
        }
    }
}

#endif
