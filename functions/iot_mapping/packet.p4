// Headers and metadata of iot_mapping.p4, and its parser.
//
// Packets of devices are parsed as far as ports. Their copies, which are to be mapped, come back with an instance type that says so, and are
// parsed to the payload of MQTT, CoAP or HTTP.

#ifndef IOT_MAPPING_PACKET_P4
#define IOT_MAPPING_PACKET_P4

#include "../lib/headers.p4"

// As for programs/iot_aggregate: bytes of a message after its UDP header, and the port of messages.
#ifndef S
#define S 54
#endif
#ifndef IOT_UDP_PORT
#define IOT_UDP_PORT 9000
#endif
#ifndef MQTT_PORT
#define MQTT_PORT 1883
#endif
#ifndef COAP_PORT
#define COAP_PORT 5683
#endif
#ifndef HTTP_PORT
#define HTTP_PORT 80
#endif
#ifndef FLOWS
#define FLOWS 65536
#endif

#if S < 23 || S > 128
#error "S must be 23 to 128: 6 bytes of flag header, 16 of the mapping and at least 1 of payload"
#endif

// Bytes of payload that a message has room for.
#define DATA_BYTES (S - 22)

// Protocols of messages.
const bit<8> KIND_NONE = 0;
const bit<8> KIND_MQTT = 1;
const bit<8> KIND_COAP = 2;
const bit<8> KIND_HTTP = 3;

// What the parser has found.
const bit<8> FOUND_NOTHING = 0;
// A payload that can be mapped.
const bit<8> FOUND_PAYLOAD = 1;
// A whole message of the protocol that has no payload to be mapped.
const bit<8> FOUND_CONTROL = 2;
// The beginning of a message whose end is in later segments.
const bit<8> FOUND_PART = 3;
// Not even the length is there.
const bit<8> FOUND_PARTIAL_HEADER = 4;
// Against the protocol.
const bit<8> FOUND_MALFORMED = 5;
// A body of unknown length.
const bit<8> FOUND_NO_LENGTH = 6;
// A payload that is longer than a message has room for.
const bit<8> FOUND_TOO_LONG = 7;

const bit<4> MQTT_CONNECT = 1;
const bit<4> MQTT_PUBLISH = 3;

header mqtt_t {
    bit<4> type;
    bit<1> dup;
    bit<2> qos;
    bit<1> retain;
}

// A byte of a variable-length integer.
header mqtt_length_t {
    bit<1> more;
    bit<7> value;
}

header mqtt_topic_length_t {
    bit<16> value;
}

header mqtt_topic_t {
    varbit<2048> topic;
}

header mqtt_packet_id_t {
    bit<16> value;
}

// The first byte after topic and packet identifier: for MQTT 5 the length of the properties.
header mqtt_first_t {
    bit<8> value;
}

header body_t {
    varbit<11680> data;
}

header coap_t {
    bit<2> version;
    bit<2> type;
    bit<4> token_length;
    bit<8> code;
    bit<16> message_id;
}

// The message: flag header, mapping, payload, zeros.
header flag_t {
    bit<8> type;
    bit<40> padding;
}

header mapping_t {
    bit<8> kind;
    // Bytes of the payload, after which there are zeros.
    bit<8> length_;
    // Of the flow.
    bit<16> sequence;
    ipv4_address_t device;
    bit<16> device_port;
    bit<16> reserved;
}

// CRC-32 of the topic (MQTT), of the last 32 bytes of the path (CoAP, HTTP).
header topic_t {
    bit<32> hash;
}

header pad1_t { bit<8> zero; }
header pad2_t { bit<16> zero; }
header pad4_t { bit<32> zero; }
header pad8_t { bit<64> zero; }
header pad16_t { bit<128> zero; }
header pad32_t { bit<256> zero; }
header pad64_t { bit<512> zero; }

struct headers_t {
    // The message that is made of a packet.
    ethernet_t message_ethernet;
    ipv4_t message_ipv4;
    udp_t message_udp;
    flag_t flag;
    mapping_t mapping;
    topic_t topic;
    // The packet.
    ethernet_t ethernet;
    ipv4_t ipv4;
    ipv4_options_t ipv4_options;
    tcp_t tcp;
    tcp_options_t tcp_options;
    udp_t udp;
    mqtt_t mqtt;
    mqtt_length_t[4] mqtt_length;
    mqtt_topic_length_t mqtt_topic_length;
    mqtt_topic_t mqtt_topic;
    mqtt_packet_id_t mqtt_packet_id;
    mqtt_first_t mqtt_first;
    body_t body;
    pad1_t pad1;
    pad2_t pad2;
    pad4_t pad4;
    pad8_t pad8;
    pad16_t pad16;
    pad32_t pad32;
    pad64_t pad64;
}

struct metadata_t {
    // Bytes of MQTT packets of this segment that are done with.
    @field_list(1) bit<16> skip;
    @field_list(1) bit<8> passes;
    bit<8> kind;
    bit<8> found;
    // Bytes of the transport's payload that are not parsed yet.
    bit<16> left;
    // Bytes of the transport's payload.
    bit<16> payload_bytes;
    // Bytes of the first MQTT packet; of the payload that is to be mapped.
    bit<32> packet_bytes;
    bit<16> data_bytes;
    bit<8> mqtt_level;
    bit<256> path;
    // CoAP: number of the option, and the length of its value.
    bit<16> option;
    bit<16> option_bytes;
    bit<1> is_block;
    bit<16> content_length;
    bit<1> has_content_length;
    bit<16> sequence;
    bit<1> is_message;
    bit<1> is_trimmed;
    bit<32> topic;
}

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
        packet.extract(hdr.tcp_options, ((bit<32>) hdr.tcp.data_offset - 5) << 5);
        verify(meta.left >= (bit<16>) hdr.tcp.data_offset << 2, error.ParserInvalidArgument);
        meta.left = meta.left - ((bit<16>) hdr.tcp.data_offset << 2);
        meta.payload_bytes = meta.left;
        transition select(hdr.tcp.dst_port, meta.left, standard_metadata.instance_type) {
            (_, 0, _): accept;
            (MQTT_PORT, _, INSTANCE_RECIRCULATED): parse_mqtt;
            (HTTP_PORT, _, INSTANCE_RECIRCULATED): parse_http;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        verify(meta.left >= 8 && hdr.udp.length_ >= 8 && hdr.udp.length_ <= meta.left, error.ParserInvalidArgument);
        meta.left = hdr.udp.length_ - 8;
        meta.payload_bytes = meta.left;
        transition select(hdr.udp.dst_port, standard_metadata.instance_type) {
            (COAP_PORT, INSTANCE_RECIRCULATED): parse_coap;
            default: accept;
        }
    }

    // MQTT (OASIS MQTT 3.1.1 §2, §3.3; MQTT 5.0 §3.3) ------------------------------------------------------------------

    state parse_mqtt {
        meta.kind = KIND_MQTT;
        meta.found = FOUND_PARTIAL_HEADER;
        transition select(meta.left) {
            0 .. 1: accept;
            default: parse_mqtt_type;
        }
    }

    state parse_mqtt_type {
        packet.extract(hdr.mqtt);
        packet.extract(hdr.mqtt_length[0]);
        meta.packet_bytes = 2 + (bit<32>) hdr.mqtt_length[0].value;
        meta.left = meta.left - 2;
        transition select(hdr.mqtt_length[0].more, meta.left) {
            (0, _): parse_mqtt_rest;
            (1, 0): accept;
            default: parse_mqtt_length_1;
        }
    }

    state parse_mqtt_length_1 {
        packet.extract(hdr.mqtt_length[1]);
        meta.packet_bytes = meta.packet_bytes + 1 + ((bit<32>) hdr.mqtt_length[1].value << 7);
        meta.left = meta.left - 1;
        transition select(hdr.mqtt_length[1].more, meta.left) {
            (0, _): parse_mqtt_rest;
            (1, 0): accept;
            default: parse_mqtt_length_2;
        }
    }

    state parse_mqtt_length_2 {
        packet.extract(hdr.mqtt_length[2]);
        meta.packet_bytes = meta.packet_bytes + 1 + ((bit<32>) hdr.mqtt_length[2].value << 14);
        meta.left = meta.left - 1;
        transition select(hdr.mqtt_length[2].more, meta.left) {
            (0, _): parse_mqtt_rest;
            (1, 0): accept;
            default: parse_mqtt_length_3;
        }
    }

    state parse_mqtt_length_3 {
        packet.extract(hdr.mqtt_length[3]);
        meta.packet_bytes = meta.packet_bytes + 1 + ((bit<32>) hdr.mqtt_length[3].value << 21);
        meta.left = meta.left - 1;
        meta.found = FOUND_MALFORMED;
        transition select(hdr.mqtt_length[3].more) {
            0: parse_mqtt_rest;
            default: accept;
        }
    }

    // Now `left` becomes what is left of the MQTT packet.
    state parse_mqtt_rest {
        meta.found = FOUND_PART;
        transition select(meta.packet_bytes <= (bit<32>) meta.payload_bytes) {
            false: accept;
            default: parse_mqtt_whole;
        }
    }

    state parse_mqtt_whole {
        meta.left = (bit<16>) meta.packet_bytes - (meta.payload_bytes - meta.left);
        meta.found = FOUND_CONTROL;
        transition select(hdr.mqtt.type, hdr.mqtt.qos, meta.left) {
            (MQTT_PUBLISH, 3, _): malformed_body;
            (MQTT_PUBLISH, _, 0 .. 1): malformed_body;
            (MQTT_PUBLISH, _, _): parse_publish;
            (MQTT_CONNECT, _, 0 .. 9): malformed_body;
            (MQTT_CONNECT, _, _): parse_connect;
            (0, _, _): malformed_body;
            default: parse_body;
        }
    }

    state parse_connect {
        // Protocol name and level.
        bit<56> name = packet.lookahead<bit<56>>();
        meta.mqtt_level = name[55:8] == 0x00044d515454 ? name[7:0] : 8w0;
        transition parse_body;
    }

    state parse_publish {
        packet.extract(hdr.mqtt_topic_length);
        meta.left = meta.left - 2;
        bit<16> identifier = hdr.mqtt.qos == 0 ? 16w0 : 16w2;
        bit<17> needed = (bit<17>) hdr.mqtt_topic_length.value + (bit<17>) identifier;
        transition select(needed <= (bit<17>) meta.left, hdr.mqtt_topic_length.value) {
            (false, _): malformed_body;
            (true, 0 .. 256): parse_topic;
            default: long_topic;
        }
    }

    state long_topic {
        meta.found = FOUND_TOO_LONG;
        transition parse_body;
    }

    state malformed_body {
        meta.found = FOUND_MALFORMED;
        transition parse_body;
    }

    state parse_topic {
        packet.extract(hdr.mqtt_topic, (bit<32>) hdr.mqtt_topic_length.value << 3);
        meta.left = meta.left - hdr.mqtt_topic_length.value;
        transition select(hdr.mqtt.qos) {
            0: parse_publish_payload;
            default: parse_packet_id;
        }
    }

    state parse_packet_id {
        packet.extract(hdr.mqtt_packet_id);
        meta.left = meta.left - 2;
        transition parse_publish_payload;
    }

    state parse_publish_payload {
        transition select(meta.left) {
            0: accept;
            default: parse_first;
        }
    }

    state parse_first {
        packet.extract(hdr.mqtt_first);
        meta.found = FOUND_PAYLOAD;
        meta.data_bytes = meta.left;
        meta.left = meta.left - 1;
        transition parse_body;
    }

    // The rest of the MQTT packet.
    state parse_body {
        packet.extract(hdr.body, (bit<32>) meta.left << 3);
        transition accept;
    }

    // CoAP (RFC 7252 §3) -----------------------------------------------------------------------------------------------

    state parse_coap {
        meta.kind = KIND_COAP;
        meta.found = FOUND_MALFORMED;
        transition select(meta.left) {
            0 .. 3: accept;
            default: parse_coap_header;
        }
    }

    state parse_coap_header {
        bit<32> head = packet.lookahead<bit<32>>();
        packet.advance(32);
        meta.sequence = head[15:0];
        meta.left = meta.left - 4;
        bit<16> token = (bit<16>) head[27:24];
        meta.option_bytes = token;
        // Version 1, confirmable or not, a token of 0 to 8 bytes, POST or PUT; other requests have no payload to be mapped.
        transition select(head[31:30], head[29:28], token <= meta.left && token <= 8, head[23:16]) {
            (1, 0 .. 1, true, 2 .. 3): skip_value;
            (1, _, true, _): coap_control;
            default: accept;
        }
    }

    state coap_control {
        meta.found = FOUND_CONTROL;
        transition accept;
    }

    // The token, and values of options that do not matter.
    state skip_value {
        packet.advance((bit<32>) meta.option_bytes << 3);
        meta.left = meta.left - meta.option_bytes;
        transition next_option;
    }

    state next_option {
        transition select(meta.left) {
            0: coap_control;
            default: parse_option;
        }
    }

    state parse_option {
        bit<8> head = packet.lookahead<bit<8>>();
        packet.advance(8);
        meta.left = meta.left - 1;
        meta.option = meta.option + (bit<16>) head[7:4];
        meta.option_bytes = (bit<16>) head[3:0];
        transition select(head, meta.left) {
            (0xff, 0): accept;
            (0xff, _): coap_payload;
            (0xf0 .. 0xfe, _): accept;
            (0xd0 .. 0xef, 0): accept;
            (0xd0 .. 0xdf, _): delta_8;
            (0xe0 .. 0xef, 1): accept;
            (0xe0 .. 0xef, _): delta_16;
            default: option_length;
        }
    }

    state delta_8 {
        meta.option = meta.option + (bit<16>) packet.lookahead<bit<8>>();
        packet.advance(8);
        meta.left = meta.left - 1;
        transition option_length;
    }

    state delta_16 {
        // 269 and the two bytes, of which 14 are added already.
        meta.option = meta.option + packet.lookahead<bit<16>>() + 255;
        packet.advance(16);
        meta.left = meta.left - 2;
        transition option_length;
    }

    state option_length {
        transition select(meta.option_bytes, meta.left) {
            (13, 0): accept;
            (13, _): length_8;
            (14, 0 .. 1): accept;
            (14, _): length_16;
            (15, _): accept;
            default: option_value;
        }
    }

    state length_8 {
        meta.option_bytes = 13 + (bit<16>) packet.lookahead<bit<8>>();
        packet.advance(8);
        meta.left = meta.left - 1;
        transition option_value;
    }

    state length_16 {
        meta.option_bytes = 269 + packet.lookahead<bit<16>>();
        packet.advance(16);
        meta.left = meta.left - 2;
        transition option_value;
    }

    // Uri-Path (11) is the topic. Block1 (27) and Block2 (23) are payloads over several messages (RFC 7959).
    state option_value {
        transition select(meta.option_bytes <= meta.left, meta.option) {
            (false, _): accept;
            (true, 11): path_segment;
            (true, 23): block;
            (true, 27): block;
            default: skip_value;
        }
    }

    state block {
        meta.is_block = 1;
        transition skip_value;
    }

    state path_segment {
        // Segments are joined by slashes, as in a URI.
        meta.path = meta.path << 8 | 0x2f;
        transition path_byte;
    }

    state path_byte {
        transition select(meta.option_bytes) {
            0: next_option;
            default: one_path_byte;
        }
    }

    state one_path_byte {
        meta.path = meta.path << 8 | (bit<256>) packet.lookahead<bit<8>>();
        packet.advance(8);
        meta.left = meta.left - 1;
        meta.option_bytes = meta.option_bytes - 1;
        transition path_byte;
    }

    state coap_payload {
        meta.data_bytes = meta.left;
        transition select(meta.is_block) {
            1: part;
            default: parse_payload;
        }
    }

    state part {
        meta.found = FOUND_PART;
        meta.packet_bytes = (bit<32>) (meta.payload_bytes - meta.left) + (bit<32>) meta.content_length;
        transition accept;
    }

    // HTTP/1.1 (RFC 9112): POST and PUT with Content-Length, header and body in one segment -----------------------------

    state parse_http {
        meta.kind = KIND_HTTP;
        meta.found = FOUND_CONTROL;
        meta.packet_bytes = (bit<32>) meta.payload_bytes;
        transition select(meta.left) {
            0 .. 15: accept;
            default: parse_method;
        }
    }

    state parse_method {
        transition select(packet.lookahead<bit<40>>()) {
            40w0x504f535420: skip_post;
            40w0x5055542000 &&& 40w0xffffffff00: skip_put;
            default: accept;
        }
    }

    state skip_post {
        packet.advance(40);
        meta.left = meta.left - 5;
        transition http_path;
    }

    state skip_put {
        packet.advance(32);
        meta.left = meta.left - 4;
        transition http_path;
    }

    state http_path {
        transition select(packet.lookahead<bit<8>>(), meta.left) {
            (_, 0 .. 3): header_ends_early;
            (0x20, _): http_line;
            default: one_http_path;
        }
    }

    state one_http_path {
        meta.path = meta.path << 8 | (bit<256>) packet.lookahead<bit<8>>();
        packet.advance(8);
        meta.left = meta.left - 1;
        transition http_path;
    }

    // Where the next request begins is unknown: `packet_bytes` 0.
    state header_ends_early {
        meta.found = FOUND_PART;
        meta.packet_bytes = 0;
        transition accept;
    }

    // From here to the end of the header: one byte at a time, names of fields at the beginning of lines.
    state http_line {
        transition select(meta.left) {
            0 .. 3: header_ends_early;
            default: http_byte;
        }
    }

    state http_byte {
        transition select(packet.lookahead<bit<32>>()) {
            0x0d0a0d0a: end_of_header;
            // "\r\nCo", "\r\nco", "\r\nTr", "\r\ntr": perhaps Content-Length or Transfer-Encoding.
            0x0d0a436f: maybe_content_length;
            0x0d0a636f: maybe_content_length;
            0x0d0a5472: transfer_encoding;
            0x0d0a7472: transfer_encoding;
            default: next_http_byte;
        }
    }

    state next_http_byte {
        packet.advance(8);
        meta.left = meta.left - 1;
        transition http_line;
    }

    // "ntent-Length:" in either case of its two capitals.
    state maybe_content_length {
        transition select(meta.left) {
            0 .. 18: header_ends_early;
            default: check_content_length;
        }
    }

    state check_content_length {
        bit<136> name = packet.lookahead<bit<136>>();
        // The bytes after "\r\nCo": "ntent-Length:".
        transition select(name[103:0] | 104w0x20202020202020202020202020) {
            104w0x6e74656e742d6c656e6774683a: content_length;
            default: next_http_byte;
        }
    }

    state content_length {
        packet.advance(136);
        meta.left = meta.left - 17;
        meta.has_content_length = 1;
        meta.content_length = 0;
        transition content_length_byte;
    }

    state content_length_byte {
        bit<8> one = packet.lookahead<bit<8>>();
        transition select(one, meta.left, meta.content_length) {
            (_, 0 .. 3, _): header_ends_early;
            (0x20, _, _): skip_blank;
            // More than four digits are more than a segment.
            (0x30 .. 0x39, _, 0 .. 999): digit;
            (0x30 .. 0x39, _, _): very_long;
            default: http_line;
        }
    }

    state skip_blank {
        packet.advance(8);
        meta.left = meta.left - 1;
        transition content_length_byte;
    }

    state digit {
        meta.content_length = (meta.content_length << 3) + (meta.content_length << 1) + (bit<16>) packet.lookahead<bit<8>>()[3:0];
        packet.advance(8);
        meta.left = meta.left - 1;
        transition content_length_byte;
    }

    state very_long {
        meta.packet_bytes = 0;
        transition too_long;
    }

    state too_long {
        meta.found = FOUND_TOO_LONG;
        transition accept;
    }

    state transfer_encoding {
        transition no_length;
    }

    state end_of_header {
        packet.advance(32);
        meta.left = meta.left - 4;
        meta.data_bytes = meta.content_length;
        transition select(meta.has_content_length, meta.content_length, meta.content_length <= meta.left) {
            (0, _, _): no_length;
            (1, 0, _): accept;
            (1, _, false): part;
            default: parse_payload;
        }
    }

    state no_length {
        meta.found = FOUND_NO_LENGTH;
        meta.packet_bytes = 0;
        transition accept;
    }

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
