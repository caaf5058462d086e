// A stack of unions: options of different lengths are parsed in a loop and emitted in order.

#include <v1model.p4>

header end_t {
    bit<8> kind;
}

header size_t {
    bit<8> kind;
    bit<16> size;
}

header stamp_t {
    bit<8> kind;
    bit<32> stamp;
}

header_union option_t {
    end_t end;
    size_t size;
    stamp_t stamp;
}

struct headers_t {
    option_t[4] options;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        transition select(packet.lookahead<bit<8>>()) {
            0: end;
            2: size;
            8: stamp;
        }
    }

    state end {
        packet.extract(hdr.options.next.end);
        transition accept;
    }

    state size {
        packet.extract(hdr.options.next.size);
        transition start;
    }

    state stamp {
        packet.extract(hdr.options.next.stamp);
        transition start;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        // Clamp the second option when it is a size; drop a time stamp in first place.
        if (hdr.options[1].size.isValid() && hdr.options[1].size.size > 1000) {
            hdr.options[1].size.size = 1000;
        }
        if (hdr.options[0].stamp.isValid()) {
            hdr.options[0].stamp.setInvalid();
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
