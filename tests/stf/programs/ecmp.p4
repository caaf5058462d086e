// Equal-cost multipath: a group table gives a hash base and size, a second table the port of the chosen member.

#include <v1model.p4>

header flow_t {
    bit<32> source;
    bit<32> destination;
}

struct headers_t {
    flow_t flow;
}

struct meta_t {
    bit<16> member;
}

parser SwitchParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.flow);
        transition accept;
    }
}

control SwitchVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action choose(bit<16> base, bit<16> count) {
        hash(meta.member, HashAlgorithm.crc16, base, { hdr.flow.source, hdr.flow.destination }, count);
    }

    action send(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    table groups {
        key = {
            hdr.flow.destination: lpm;
        }
        actions = {
            choose;
            drop;
        }
        default_action = drop();
    }

    table members {
        key = {
            meta.member: exact;
        }
        actions = {
            send;
            drop;
        }
        default_action = drop();
    }

    apply {
        switch (groups.apply().action_run) {
            choose: { members.apply(); }
        }
    }
}

control SwitchEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control SwitchCompute(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(SwitchParser(), SwitchVerify(), SwitchIngress(), SwitchEgress(), SwitchCompute(), SwitchDeparser()) main;
