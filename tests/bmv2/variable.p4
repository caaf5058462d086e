// Fields of variable length, look-ahead, `advance`, value sets, errors of the parser.
header start_t {
    bit<8> kind;
    bit<8> length;
}

header options_t {
    bit<8> count;
    varbit<64> data;
}

header end_t {
    bit<16> marker;
}

struct headers_t {
    start_t start;
    options_t options;
    options_t copy;
    end_t end;
}

struct metadata_t {
    bit<8> seen;
    bit<32> error_number;
}

#include "frame.p4"

error {
    BadMarker
}

struct pair_t {
    bit<8> kind;
    bit<8> length;
}

parser VariableParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    value_set<pair_t>(4) accepted;
    state start {
        packet.extract(hdr.start);
        transition select(hdr.start.kind, hdr.start.length) {
            accepted: accept;
            (1, _): options;
            (2, _): skip;
            (3 .. 6, _): marker;
        }
    }
    state options {
        packet.extract(hdr.options, (bit<32>)hdr.start.length * 8);
        meta.seen = packet.lookahead<bit<16>>()[7:0];
        transition select(meta.seen) {
            0xff &&& 0xf0: marker;
            default: accept;
        }
    }
    state skip {
        packet.advance((bit<32>)hdr.start.length << 3);
        transition marker;
    }
    state marker {
        packet.extract(hdr.end);
        verify(hdr.end.marker[15:8] == 0xaa, error.BadMarker);
        transition accept;
    }
}

control VariableIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
        if (hdr.options.isValid()) {
            hdr.copy = hdr.options;
            hdr.copy.count = meta.seen;
        }
        if (standard_metadata.parser_error == error.BadMarker) {
            hdr.start.kind = 0xbb;
        } else if (standard_metadata.parser_error == error.HeaderTooShort) {
            hdr.start.kind = 0xcc;
        } else if (standard_metadata.parser_error == error.NoMatch) {
            hdr.start.kind = 0xdd;
        } else if (standard_metadata.parser_error == error.PacketTooShort) {
            hdr.start.kind = 0xee;
        }
    }
}

V1Switch(VariableParser(), NoChecksum(), VariableIngress(), NoEgress(), NoChecksum(), EmitAll()) main;
