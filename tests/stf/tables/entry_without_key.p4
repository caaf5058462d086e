// A table without key: misses until the control plane adds its one entry, which every packet hits then.

#include <core.p4>
#include <v1model.p4>

header byte_t {
    bit<8> value;
}

struct headers_t {
    byte_t byte;
}

struct metadata_t {}

parser ByteParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.byte);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control Ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action set_value(bit<8> value) {
        hdr.byte.value = value;
    }

    table parameters {
        actions = {
            set_value;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        standard_metadata.egress_spec = parameters.apply().hit ? 9w2 : 3;
    }
}

control Egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control ByteDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.byte);
    }
}

V1Switch(ByteParser(), NoChecksums(), Ingress(), Egress(), NoChecksums(), ByteDeparser()) main;
