// The parser of iot_mapping.p4.
//
// Packets of devices are parsed up to their ports. Recirculated copies of them, which are to be mapped, are parsed to the payload of MQTT, CoAP or
// HTTP. The states of each protocol are in a file of their own.
//
// Packets that may be flooded have specialised code only without headers of variable length, valid or set by a control. Therefore options of TCP are
// payload unless a copy is trimmed, copies that are mapped have no options, and no control makes such a header invalid.

#ifndef IOT_MAPPING_PARSER_P4
#define IOT_MAPPING_PARSER_P4

#include "packet.p4"

parser MapParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.more_fragments, hdr.ipv4.frag_offset) {
            (4, 5, 0, 0): parse_transport;
            (4, 6 .. 15, 0, 0): parse_ipv4_options;
            default: accept;
        }
    }

    state parse_ipv4_options {
        transition select(standard_metadata.instance_type, meta.skip) {
            (INSTANCE_RECIRCULATED, 0): skip_ipv4_options;
            default: extract_ipv4_options;
        }
    }

    state skip_ipv4_options {
        packet.advance(((bit<32>) hdr.ipv4.ihl - 5) << 5);
        transition parse_transport;
    }

    state extract_ipv4_options {
        packet.extract(hdr.ipv4_options, ((bit<32>) hdr.ipv4.ihl - 5) << 5);
        transition parse_transport;
    }

    state parse_transport {
        meta.left = hdr.ipv4.total_len - ((bit<16>) hdr.ipv4.ihl << 2);
        transition select(hdr.ipv4.protocol) {
            IP_PROTOCOL_TCP: parse_tcp;
            IP_PROTOCOL_UDP: parse_udp;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        verify(hdr.tcp.data_offset >= 5, error.ParserInvalidArgument);
        verify(meta.left >= (bit<16>) hdr.tcp.data_offset << 2, error.ParserInvalidArgument);
        meta.left = meta.left - ((bit<16>) hdr.tcp.data_offset << 2);
        meta.payload_bytes = meta.left;
        bool is_port = hdr.tcp.dst_port == MQTT_PORT || hdr.tcp.dst_port == HTTP_PORT;
        meta.is_mapped = is_port && standard_metadata.instance_type != INSTANCE_RECIRCULATED ? 1w1 : 1w0;
        transition select(meta.left, standard_metadata.instance_type, meta.skip) {
            (0, _, _): accept;
            (_, INSTANCE_RECIRCULATED, 0): skip_tcp_options;
            (_, INSTANCE_RECIRCULATED, _): trim;
            default: accept;
        }
    }

    state skip_tcp_options {
        packet.advance(((bit<32>) hdr.tcp.data_offset - 5) << 5);
        transition select(hdr.tcp.dst_port) {
            MQTT_PORT: parse_mqtt;
            HTTP_PORT: parse_http;
            default: accept;
        }
    }

    // The segment without its first MQTT packet, which has been handled.
    state trim {
        packet.extract(hdr.tcp_options, ((bit<32>) hdr.tcp.data_offset - 5) << 5);
        packet.advance((bit<32>) meta.skip << 3);
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        verify(meta.left >= 8 && hdr.udp.length_ >= 8 && hdr.udp.length_ <= meta.left, error.ParserInvalidArgument);
        meta.left = hdr.udp.length_ - 8;
        meta.payload_bytes = meta.left;
        bool is_port = hdr.udp.dst_port == COAP_PORT;
        meta.is_mapped = is_port && standard_metadata.instance_type != INSTANCE_RECIRCULATED ? 1w1 : 1w0;
        transition select(hdr.udp.dst_port, standard_metadata.instance_type) {
            (COAP_PORT, INSTANCE_RECIRCULATED): parse_coap;
            default: accept;
        }
    }

#include "mqtt.p4"
#include "coap.p4"
#include "http.p4"

    // The payload of a CoAP or HTTP request.
    state parse_payload {
        transition select(meta.data_bytes <= DATA_BYTES) {
            false: too_long;
            default: extract_payload;
        }
    }

    state extract_payload {
        meta.found = FOUND_PAYLOAD;
        packet.extract(hdr.body, (bit<32>) meta.data_bytes << 3);
        transition accept;
    }
}

#endif
