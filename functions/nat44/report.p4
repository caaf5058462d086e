// ICMP errors that the NAT sends itself. A packet with an error is resubmitted first, so that specialised code does not have this control.

#ifndef NAT44_REPORT_P4
#define NAT44_REPORT_P4

#include "packet.p4"

control Report(inout headers_t hdr, in metadata_t meta, out bool is_sent) {
    MakeIcmpError() make_icmp_error;

    // Index 0: errors that are sent. A meter without rates does not limit.
    meter(1, MeterType.packets) error_rate;

    apply {
        is_sent = false;
        bit<2> color = V1MODEL_METER_COLOR_RED;
        if (may_be_reported(hdr.ethernet.dst_addr, hdr.ipv4)
            && (meta.kind == KIND_FLOW || meta.kind == KIND_REQUEST || meta.kind == KIND_REPLY)) {
            error_rate.execute_meter<bit<2>>(0, color);
        }
        if (color == V1MODEL_METER_COLOR_RED) {
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
