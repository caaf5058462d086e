// Objects that controllers do not see: tables, actions and fields of packet headers that are @hidden.
#include <core.p4>
#include <v1model.p4>

@controller_header("packet_in")
header packet_in_t {
    @hidden bit<7> padding;
    bit<9> ingress_port;
    bit<8> reason;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    @hidden bit<7> padding;
    bit<8> queue;
}

header small_t {
    bit<8> kind;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    small_t small;
}

struct metadata_t { }

parser HiddenParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.small);
        transition accept;
    }
}

control HiddenVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control HiddenIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }
    @hidden action refuse() {
        mark_to_drop(standard_metadata);
    }
    @hidden table classes {
        key = { hdr.small.kind: exact; }
        actions = { forward; refuse; }
        default_action = refuse();
        const entries = { 1: forward(1); 2: refuse(); }
    }
    @hidden table always {
        actions = { refuse; }
        const default_action = refuse();
    }
    table visible {
        key = { hdr.small.kind: exact; }
        actions = { forward; refuse; }
        default_action = refuse();
        entries = { 3: refuse(); 4: forward(4); }
    }
    apply {
        if (!classes.apply().hit) {
            always.apply();
        }
        visible.apply();
    }
}

control HiddenEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control HiddenCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control HiddenDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.small);
    }
}

V1Switch(HiddenParser(), HiddenVerify(), HiddenIngress(), HiddenEgress(), HiddenCompute(), HiddenDeparser()) main;
