// States of the parser of iot_mapping.p4: HTTP/1.1 (RFC 9112): POST and PUT with Content-Length, header and body in one segment.

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
        // "POST " and "PUT ".
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
            // The query is no part of the path (RFC 3986 §3.3).
            (0x3f, _): http_line;
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
            // "\r\nCo" and "\r\nTr" in either case: perhaps Content-Length or Transfer-Encoding.
            0x0d0a434f &&& 0xffffdfdf: maybe_content_length;
            0x0d0a5452 &&& 0xffffdfdf: maybe_transfer_encoding;
            default: next_http_byte;
        }
    }

    state next_http_byte {
        packet.advance(8);
        meta.left = meta.left - 1;
        transition http_line;
    }

    // Names of fields have no case (RFC 9110 §5.1): bit 5 of letters is set on both sides.
    state maybe_content_length {
        transition select(meta.left) {
            0 .. 18: next_http_byte;
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

    state maybe_transfer_encoding {
        transition select(meta.left) {
            0 .. 21: next_http_byte;
            default: check_transfer_encoding;
        }
    }

    // It overrides Content-Length, wherever that stands (RFC 9112 §6.3).
    state check_transfer_encoding {
        bit<160> name = packet.lookahead<bit<160>>();
        // The bytes after "\r\nTr": "ansfer-Encoding:".
        transition select(name[127:0] | 128w0x20202020202020202020202020202020) {
            128w0x616e736665722d656e636f64696e673a: no_length;
            default: next_http_byte;
        }
    }

    // A second Content-Length may contradict the first one.
    state content_length {
        packet.advance(136);
        meta.left = meta.left - 17;
        meta.content_length = 0;
        transition select(meta.has_content_length) {
            1: no_length;
            default: content_length_blank;
        }
    }

    // Spaces and tabs may stand before and after the digits (RFC 9110 §5.6.3).
    state content_length_blank {
        transition select(packet.lookahead<bit<8>>(), meta.left) {
            (_, 0 .. 3): header_ends_early;
            (0x20, _): skip_blank;
            (0x09, _): skip_blank;
            (0x30 .. 0x39, _): digit;
            default: no_length;
        }
    }

    state skip_blank {
        packet.advance(8);
        meta.left = meta.left - 1;
        transition select(meta.has_content_length) {
            1: blank_behind_digits;
            default: content_length_blank;
        }
    }

    state blank_behind_digits {
        transition select(packet.lookahead<bit<8>>(), meta.left) {
            (_, 0 .. 3): header_ends_early;
            (0x20, _): skip_blank;
            (0x09, _): skip_blank;
            (0x0d, _): http_line;
            default: no_length;
        }
    }

    state digit {
        meta.has_content_length = 1;
        meta.content_length = (meta.content_length << 3) + (meta.content_length << 1) + (bit<16>) packet.lookahead<bit<8>>()[3:0];
        packet.advance(8);
        meta.left = meta.left - 1;
        transition select(packet.lookahead<bit<8>>(), meta.left, meta.content_length) {
            (_, 0 .. 3, _): header_ends_early;
            // More than four digits are more than a segment.
            (0x30 .. 0x39, _, 0 .. 999): digit;
            (0x30 .. 0x39, _, _): very_long;
            default: blank_behind_digits;
        }
    }

    state very_long {
        meta.packet_bytes = 0;
        transition too_long;
    }

    state too_long {
        meta.found = FOUND_TOO_LONG;
        transition accept;
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
