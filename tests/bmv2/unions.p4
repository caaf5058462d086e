// Header unions and a stack of them: extraction, validity, copies, a select on what was extracted last.
header kind_t {
    bit<8> kind;
}

header short_t {
    bit<8> kind;
    bit<8> value;
}

header long_t {
    bit<8> kind;
    bit<24> value;
}

header_union option_t {
    short_t small;
    long_t large;
}

struct headers_t {
    kind_t first;
    option_t single;
    option_t[2] options;
}

struct metadata_t {
}

#include "frame.p4"

parser UnionParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.first);
        transition select(hdr.first.kind) {
            1: single_small;
            2: single_large;
            default: next_option;
        }
    }
    state single_small {
        packet.extract(hdr.single.small);
        transition next_option;
    }
    state single_large {
        packet.extract(hdr.single.large);
        transition next_option;
    }
    state next_option {
        transition select(packet.lookahead<bit<8>>()) {
            0x11: small;
            0x22: large;
            default: accept;
        }
    }
    state small {
        packet.extract(hdr.options.next.small);
        transition next_option;
    }
    state large {
        packet.extract(hdr.options.next.large);
        transition select(hdr.options.last.large.value) {
            0xabcdef: accept;
            default: next_option;
        }
    }
}

control UnionIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
        if (hdr.single.isValid()) {
            if (hdr.first.kind == 1) {
                hdr.single.large.setValid();
                hdr.single.large.value = 0x010203;
            } else {
                hdr.options[1] = hdr.single;
            }
        } else {
            if (hdr.options[0].small.isValid()) {
                hdr.options.push_front(1);
            }
        }
    }
}

V1Switch(UnionParser(), NoChecksum(), UnionIngress(), NoEgress(), NoChecksum(), EmitAll()) main;
