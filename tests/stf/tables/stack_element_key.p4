// An element of a stack, chosen by a value of the packet, as a key; the entry changes the index.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> result;
}

header item_t {
    bit<8> value;
}

struct headers_t {
    input_t input;
    item_t[3] stack;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        packet.extract(hdr.stack.next);
        packet.extract(hdr.stack.next);
        packet.extract(hdr.stack.next);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action choose(bit<8> value) {
        hdr.input.a = value;
    }

    table chosen {
        key = {
            hdr.stack[hdr.input.a].value: exact @name("element");
        }
        actions = {
            choose;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
