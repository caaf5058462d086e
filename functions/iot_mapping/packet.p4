// Headers and metadata of iot_mapping.p4.

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
// Not even the length is complete.
const bit<8> FOUND_PARTIAL_HEADER = 4;
// A violation of the protocol.
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

const bit<16> BODY_BYTES_MAX = 1460;

header body_t {
    varbit<11680> data;
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
    // Number of the message within its flow.
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
    // Bytes of the first MQTT packet of the segment, when it has been handled; 0 when there is none to remove.
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
    bit<32> option;
    bit<16> option_bytes;
    bit<1> is_block;
    bit<16> content_length;
    bit<1> has_content_length;
    bit<16> sequence;
    // A packet as it came, for a port whose payloads are mapped.
    bit<1> is_mapped;
    bit<1> is_message;
    // The first byte of the payload is the length of the properties (MQTT 5).
    bit<1> is_first_left_out;
    bit<1> is_trimmed;
    bit<32> topic;
}

#endif
