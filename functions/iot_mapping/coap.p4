// States of the parser of iot_mapping.p4: CoAP (RFC 7252 §3).

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
        // Version 1, confirmable or not, a token of 0 to 8 bytes, POST or PUT. Other messages are not mapped.
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
        meta.option = meta.option + (bit<32>) head[7:4];
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
        meta.option = meta.option + (bit<32>) packet.lookahead<bit<8>>();
        packet.advance(8);
        meta.left = meta.left - 1;
        transition option_length;
    }

    state delta_16 {
        // 269 and the two bytes, of which 14 are added already.
        meta.option = meta.option + (bit<32>) packet.lookahead<bit<16>>() + 255;
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

    // A longer one is beyond any datagram.
    state length_16 {
        transition select(packet.lookahead<bit<16>>()) {
            0 .. 0xfef2: long_value;
            default: accept;
        }
    }

    state long_value {
        meta.option_bytes = 269 + packet.lookahead<bit<16>>();
        packet.advance(16);
        meta.left = meta.left - 2;
        transition option_value;
    }

    // Uri-Path (11) is the topic. Block1 (27) and Block2 (23) are payloads over several messages (RFC 7959).
    state option_value {
        transition select(meta.option_bytes <= meta.left, meta.option) {
            (false, _): accept;
            // Numbers of options have 16 bits (§3.1).
            (true, 0x10000 .. 0xffffffff): accept;
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
