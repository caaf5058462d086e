// A select over a serializable enum and an enumeration.

#include <v1model.p4>

enum bit<8> kind_t {
    data = 1,
    management = 2
}

enum level_t { low, high }

header input_t {
    kind_t kind;
    bit<8> value;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        level_t level = hdr.input.value > 9 ? level_t.high : level_t.low;
        transition select(hdr.input.kind, level) {
            (kind_t.data, level_t.low): data_low;
            (kind_t.data, _): data_high;
            (kind_t.management, _): management;
            default: accept;
        }
    }

    state data_low {
        hdr.input.value = 0xA0;
        transition accept;
    }

    state data_high {
        hdr.input.value = 0xA1;
        transition accept;
    }

    state management {
        hdr.input.value = 0xA2;
        transition accept;
    }
}

#include "../include/skeleton.p4"
