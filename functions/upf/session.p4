// The session of a packet, and its rules: PDRs, FARs, QERs and URRs of TS 29.244.
//
//   uplink     TEID ─► session ─┐                                   ┌─► QER: gate, rate, QFI
//   downlink   UE   ─► session ─┴─► application ─► termination (PDR) ┼─► FAR: tunnel, buffer, drop
//                                                                   └─► URR: counters
//
// A session and an application make a PDR. Sessions with the same filters share the applications of a rule set.

#ifndef UPF_SESSION_P4
#define UPF_SESSION_P4

#include "packet.p4"

control Sessions(in headers_t hdr, inout metadata_t meta, out bool found) {
    // Addresses of the UE, which uplink packets must come from; 0 for any, all ones for none. `to_ue`: the tunnel brings packets for the UE, from
    // another UPF or the SMF.
    action uplink_session(bit<32> session, bit<32> rules, ipv4_address_t ue_ipv4, bit<64> ue_prefix, bit<1> to_ue) {
        meta.session = session;
        meta.rules = rules;
        meta.ue_ipv4 = ue_ipv4;
        meta.ue_prefix = ue_prefix;
        meta.to_ue = to_ue;
    }

    action downlink_session(bit<32> session, bit<32> rules) {
        meta.session = session;
        meta.rules = rules;
    }

    table sessions_uplink {
        key = {
            hdr.gtpu.teid: exact;
        }
        actions = {
            uplink_session;
            NoAction;
        }
        default_action = NoAction();
        size = 1048576;
    }

    table sessions_downlink_ipv4 {
        key = {
            hdr.ipv4.dst_addr: exact;
        }
        actions = {
            downlink_session;
            NoAction;
        }
        default_action = NoAction();
        size = 1048576;
    }

    // A UE has a prefix of 64 bits.
    table sessions_downlink_ipv6 {
        key = {
            hdr.ipv6.dst_addr[127:64]: exact @name("ue_prefix");
        }
        actions = {
            downlink_session;
            NoAction;
        }
        default_action = NoAction();
        size = 1048576;
    }

    apply {
        if (meta.is_uplink == 1) {
            found = sessions_uplink.apply().hit;
        } else if (hdr.ipv4.isValid()) {
            found = sessions_downlink_ipv4.apply().hit;
        } else {
            found = sessions_downlink_ipv6.apply().hit;
        }
    }
}

// The application that the filters of the session's rule set find: 0 if none does.
control Applications(inout metadata_t meta, in bool is_ipv4) {
    action set_application(bit<16> application) {
        meta.application = application;
    }

    table applications_ipv4 {
        key = {
            meta.rules: exact;
            meta.remote_ipv4: ternary;
            meta.protocol: ternary;
            meta.remote_port: range;
            meta.local_port: range;
            meta.qfi: ternary;
        }
        actions = {
            set_application;
            NoAction;
        }
        default_action = NoAction();
        size = 65536;
    }

    table applications_ipv6 {
        key = {
            meta.rules: exact;
            meta.remote_ipv6: ternary;
            meta.protocol: ternary;
            meta.remote_port: range;
            meta.local_port: range;
            meta.qfi: ternary;
        }
        actions = {
            set_application;
            NoAction;
        }
        default_action = NoAction();
        size = 65536;
    }

    apply {
        if (meta.rules != 0) {
            if (is_ipv4) {
                applications_ipv4.apply();
            } else {
                applications_ipv6.apply();
            }
        }
    }
}

control Rules(inout metadata_t meta, out bit<32> drop) {
    // A PDR. 0 for a QER or URR that it does not have. `before_qos`: the URRs that count what QERs drop, too; the lowest bit is that of
    // `flow_urr`. `closed`: the gate of `session_qer`. With 27 bits for the FAR a record has four words of 64 bits.
    action forward(bit<27> far, bit<32> flow_qer, bit<32> session_qer, bit<32> flow_urr, bit<32> session_urr, bit<32> third_urr,
                   bit<32> fourth_urr, bit<4> before_qos, bit<1> closed) {
        meta.far = (bit<32>) far;
        meta.flow_qer = flow_qer;
        meta.session_qer = session_qer;
        meta.flow_urr = flow_urr;
        meta.session_urr = session_urr;
        meta.third_urr = third_urr;
        meta.fourth_urr = fourth_urr;
        meta.before_qos = before_qos;
        meta.gate_closed = closed;
    }

    action drop_packet() {
        drop = DROP_TERMINATION;
    }

    action no_rule() {
        drop = DROP_NO_TERMINATION;
    }

    table terminations_uplink {
        key = {
            meta.session: exact;
            meta.application: exact;
        }
        actions = {
            forward;
            drop_packet;
            no_rule;
        }
        default_action = no_rule();
        size = 2097152;
    }

    table terminations_downlink {
        key = {
            meta.session: exact;
            meta.application: exact;
        }
        actions = {
            forward;
            drop_packet;
            no_rule;
        }
        default_action = no_rule();
        size = 2097152;
    }

    // The QER of a flow; `qfi` 0 for none.
    action set_qer(bit<1> uplink_closed, bit<1> downlink_closed, bit<6> qfi, bit<1> reflective) {
        meta.gate_closed = meta.gate_closed | (meta.is_uplink == 1 ? uplink_closed : downlink_closed);
        meta.marked_qfi = qfi;
        meta.reflective = reflective;
    }

    table qers {
        key = {
            meta.flow_qer: exact;
        }
        actions = {
            set_qer;
            NoAction;
        }
        default_action = NoAction();
        size = 1048576;
    }

    // Maximum bit rates of QERs: a red packet is dropped. Index 0 is never used.
    meter(QERS, MeterType.bytes) uplink_rates;
    meter(QERS, MeterType.bytes) downlink_rates;

    // Usage of URRs by the packets that are let through, and with `before_qos` by those that QERs drop. Counters have the length of frames as they
    // come: 14 bytes more than the packet for downlink, those of the tunnel too for uplink. Therefore registers have the bytes of uplink packets
    // without tunnel, and those by which downlink frames are longer than that.
    counter(URRS, CounterType.packets_and_bytes) uplink_usage;
    register<bit<48>>(URRS) uplink_bytes;
    counter(URRS, CounterType.packets_and_bytes) downlink_usage;
    register<bit<48>>(URRS) downlink_padding;

    apply {
        drop = DROP_NONE;
        if (meta.is_uplink == 1) {
            terminations_uplink.apply();
        } else {
            terminations_downlink.apply();
        }
        if (drop != DROP_NONE) {
            return;
        }
        bit<2> colour = V1MODEL_METER_COLOR_GREEN;
        if (meta.flow_qer != 0) {
            qers.apply();
            if (meta.gate_closed == 1) {
                drop = DROP_GATE;
            } else {
                if (meta.is_uplink == 1) {
                    uplink_rates.execute_meter<bit<2>>(meta.flow_qer, colour);
                } else {
                    downlink_rates.execute_meter<bit<2>>(meta.flow_qer, colour);
                }
                if (colour == V1MODEL_METER_COLOR_RED) {
                    drop = DROP_RATE;
                }
            }
        }
        if (meta.session_qer != 0 && drop == DROP_NONE) {
            if (meta.is_uplink == 1) {
                uplink_rates.execute_meter<bit<2>>(meta.session_qer, colour);
            } else {
                downlink_rates.execute_meter<bit<2>>(meta.session_qer, colour);
            }
            if (colour == V1MODEL_METER_COLOR_RED) {
                drop = DROP_RATE;
            }
        }
        if (drop != DROP_NONE) {
            if (meta.before_qos == 0) {
                return;
            }
            meta.flow_urr = meta.before_qos[0:0] == 1 ? meta.flow_urr : 0;
            meta.session_urr = meta.before_qos[1:1] == 1 ? meta.session_urr : 0;
            meta.third_urr = meta.before_qos[2:2] == 1 ? meta.third_urr : 0;
            meta.fourth_urr = meta.before_qos[3:3] == 1 ? meta.fourth_urr : 0;
        }
        if (meta.flow_urr != 0) {
            if (meta.is_uplink == 1) {
                uplink_usage.count(meta.flow_urr);
                @atomic {
                    bit<48> bytes;
                    uplink_bytes.read(bytes, meta.flow_urr);
                    uplink_bytes.write(meta.flow_urr, bytes + (bit<48>) meta.ip_bytes);
                }
            } else {
                downlink_usage.count(meta.flow_urr);
                if (meta.padding != 0) {
                    @atomic {
                        bit<48> bytes;
                        downlink_padding.read(bytes, meta.flow_urr);
                        downlink_padding.write(meta.flow_urr, bytes + (bit<48>) meta.padding);
                    }
                }
            }
        }
        if (meta.session_urr != 0) {
            if (meta.is_uplink == 1) {
                uplink_usage.count(meta.session_urr);
                @atomic {
                    bit<48> bytes;
                    uplink_bytes.read(bytes, meta.session_urr);
                    uplink_bytes.write(meta.session_urr, bytes + (bit<48>) meta.ip_bytes);
                }
            } else {
                downlink_usage.count(meta.session_urr);
                if (meta.padding != 0) {
                    @atomic {
                        bit<48> bytes;
                        downlink_padding.read(bytes, meta.session_urr);
                        downlink_padding.write(meta.session_urr, bytes + (bit<48>) meta.padding);
                    }
                }
            }
        }
        if (meta.third_urr != 0) {
            if (meta.is_uplink == 1) {
                uplink_usage.count(meta.third_urr);
                @atomic {
                    bit<48> bytes;
                    uplink_bytes.read(bytes, meta.third_urr);
                    uplink_bytes.write(meta.third_urr, bytes + (bit<48>) meta.ip_bytes);
                }
            } else {
                downlink_usage.count(meta.third_urr);
                if (meta.padding != 0) {
                    @atomic {
                        bit<48> bytes;
                        downlink_padding.read(bytes, meta.third_urr);
                        downlink_padding.write(meta.third_urr, bytes + (bit<48>) meta.padding);
                    }
                }
            }
        }
        if (meta.fourth_urr != 0) {
            if (meta.is_uplink == 1) {
                uplink_usage.count(meta.fourth_urr);
                @atomic {
                    bit<48> bytes;
                    uplink_bytes.read(bytes, meta.fourth_urr);
                    uplink_bytes.write(meta.fourth_urr, bytes + (bit<48>) meta.ip_bytes);
                }
            } else {
                downlink_usage.count(meta.fourth_urr);
                if (meta.padding != 0) {
                    @atomic {
                        bit<48> bytes;
                        downlink_padding.read(bytes, meta.fourth_urr);
                        downlink_padding.write(meta.fourth_urr, bytes + (bit<48>) meta.padding);
                    }
                }
            }
        }
    }
}

// Applies the FAR.
control Forwarding(inout headers_t hdr, inout metadata_t meta, out bit<32> drop, out bit<8> to_controller) {
    Encapsulate() encapsulate;

    bool is_tunnelled = false;
    bit<32> teid = 0;
    bit<6> dscp = 0;

    // Without a tunnel: to the data network.
    action to_core() {
    }

    // Through a tunnel to a gNB, or to another UPF.
    action to_tunnel_ipv4(ipv4_address_t src_addr, ipv4_address_t dst_addr, bit<32> tunnel, bit<16> src_port, bit<6> marking) {
        is_tunnelled = true;
        teid = tunnel;
        dscp = marking;
        hdr.tunnel_ipv4.setValid();
        hdr.tunnel_ipv4.src_addr = src_addr;
        hdr.tunnel_ipv4.dst_addr = dst_addr;
        hdr.tunnel_udp.setValid();
        hdr.tunnel_udp.src_port = src_port;
    }

    action to_tunnel_ipv6(ipv6_address_t src_addr, ipv6_address_t dst_addr, bit<32> tunnel, bit<16> src_port, bit<6> marking) {
        is_tunnelled = true;
        teid = tunnel;
        dscp = marking;
        hdr.tunnel_ipv6.setValid();
        hdr.tunnel_ipv6.src_addr = src_addr;
        hdr.tunnel_ipv6.dst_addr = dst_addr;
        hdr.tunnel_udp.setValid();
        hdr.tunnel_udp.src_port = src_port;
    }

    // To the controller, which keeps the packet until the UE is reached.
    action buffer() {
        to_controller = REASON_BUFFER;
    }

    action drop_packet() {
        drop = DROP_FAR;
    }

    table fars {
        key = {
            meta.far: exact;
        }
        actions = {
            to_core;
            to_tunnel_ipv4;
            to_tunnel_ipv6;
            buffer;
            drop_packet;
        }
        default_action = drop_packet();
        size = 1048576;
    }

    apply {
        drop = DROP_NONE;
        to_controller = 0;
        fars.apply();
        if (is_tunnelled) {
            encapsulate.apply(hdr, meta.ip_bytes, teid, meta.marked_qfi, meta.reflective, dscp, GTPU_G_PDU);
        }
    }
}

#endif
