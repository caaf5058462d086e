// Connections that packets open, each an entry for both directions.
#include <v1model.p4>
#include <forebay.p4>

header input_t {
    bit<8> from;
    bit<8> to;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.input);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    action pass() {
        sm.egress_spec = 1;
    }

    action open() {
        add_entry_pair("pass", {}, "connections", { hdr.input.to, hdr.input.from }, "pass", {}, 8w0);
    }

    table connections {
        key = {
            hdr.input.from: exact;
            hdr.input.to: exact;
        }
        actions = {
            pass;
            @defaultonly open;
        }
        const default_action = open();
        add_on_miss = true;
    }

    apply {
        connections.apply();
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {}
}

control Compute(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.input);
    }
}

V1Switch(TestParser(), Verify(), TestIngress(), TestEgress(), Compute(), TestDeparser()) main;
