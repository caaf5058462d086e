// States of the parser of iot_mapping.p4: MQTT (OASIS MQTT 3.1.1 §2, §3.3; MQTT 5.0 §3.3).

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

    // From parse_mqtt_whole on, `left` is the rest of the MQTT packet, not of the segment.
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
        // Protocol name ("MQTT" with its length) and protocol level.
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

    // The rest of the MQTT packet. One that is longer than the header has room for is in a jumbo frame, and not mapped.
    state parse_body {
        transition select(meta.left) {
            0 .. BODY_BYTES_MAX: extract_body;
            default: accept;
        }
    }

    state extract_body {
        packet.extract(hdr.body, (bit<32>) meta.left << 3);
        transition accept;
    }
