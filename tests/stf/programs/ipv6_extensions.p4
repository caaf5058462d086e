// IPv6 extension headers of any length are walked to find the port of UDP, up to a limit.

#include <v1model.p4>

header ipv6_t {
    bit<4> version;
    bit<28> class_and_label;
    bit<16> payload_length;
    bit<8> next;
    bit<8> hop_limit;
    bit<128> source;
    bit<128> destination;
}

header extension_t {
    bit<8> next;
    bit<8> length;
    varbit<16368> data;
}

header udp_t {
    bit<16> source;
    bit<16> destination;
}

struct headers_t {
    ipv6_t ipv6;
    extension_t[3] extensions;
    udp_t udp;
}

struct meta_t {}

parser SwitchParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    bit<8> next;

    state start {
        packet.extract(hdr.ipv6);
        next = hdr.ipv6.next;
        transition dispatch;
    }

    state dispatch {
        transition select(next) {
            0: extension;
            43: extension;
            60: extension;
            17: udp;
            default: accept;
        }
    }

    state extension {
        bit<32> length = (bit<32>)packet.lookahead<bit<16>>()[7:0];
        packet.extract(hdr.extensions.next, length * 64 + 48);
        next = hdr.extensions.last.next;
        transition dispatch;
    }

    state udp {
        packet.extract(hdr.udp);
        transition accept;
    }
}

control SwitchVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        if (hdr.udp.isValid()) {
            standard_metadata.egress_spec = hdr.udp.destination[8:0];
        } else if (standard_metadata.parser_error != error.NoError) {
            mark_to_drop(standard_metadata);
        } else {
            standard_metadata.egress_spec = 7;
        }
    }
}

control SwitchEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control SwitchCompute(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(SwitchParser(), SwitchVerify(), SwitchIngress(), SwitchEgress(), SwitchCompute(), SwitchDeparser()) main;
