// ICMP errors that the NAT sends itself. A packet that is to be reported comes a second time, resubmitted: specialised code, which
// never sees such packets, has nothing of this.

#ifndef NAT44_REPORT_P4
#define NAT44_REPORT_P4

#include "packet.p4"

control Report(inout headers_t hdr, in metadata_t meta, out bool is_sent) {
    MakeIcmpError() make_icmp_error;

    // Errors that are sent: 0. Without rates there is no limit.
    meter(1, MeterType.packets) error_rate;

    apply {
        is_sent = false;
        bit<2> color = 2;
        if (may_be_reported(hdr.ethernet.dst_addr, hdr.ipv4)
            && (meta.kind == KIND_FLOW || meta.kind == KIND_REQUEST || meta.kind == KIND_REPLY)) {
            error_rate.execute_meter<bit<2>>(0, color);
        }
        if (color == 2) {
            return;
        }
        is_sent = true;
        hdr.quoted.setValid();
        if (hdr.tcp.isValid()) {
            hdr.quoted = { hdr.tcp.src_port, hdr.tcp.dst_port, hdr.tcp.seq_no[31:16], hdr.tcp.seq_no[15:0] };
        } else if (hdr.udp.isValid()) {
            hdr.quoted = { hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length_, hdr.udp.checksum };
        } else {
            hdr.quoted = { hdr.icmp.type ++ hdr.icmp.code, hdr.icmp.checksum, hdr.icmp.rest[31:16], hdr.icmp.rest[15:0] };
        }
        hdr.tcp.setInvalid();
        hdr.udp.setInvalid();
        hdr.icmp.setInvalid();
        bit<16> mtu = meta.error_code == ICMP_FRAGMENTATION_NEEDED ? meta.mtu : 16w0;
        make_icmp_error.apply(hdr.ethernet, hdr.error_ipv4, hdr.error_icmp, hdr.ipv4, hdr.quoted, meta.error_type,
                              meta.error_code, mtu, meta.own_addr);
    }
}

#endif
