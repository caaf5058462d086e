// In-band telemetry: each pass adds a record in front of the others and adapts their number; a full list is left alone.

#include <v1model.p4>

header telemetry_t {
    bit<8> records;
}

header record_t {
    bit<16> switch_id;
    bit<7> pad;
    bit<9> port;
}

struct headers_t {
    telemetry_t telemetry;
    record_t[4] records;
}

struct meta_t {}

parser SwitchParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    bit<8> left;

    state start {
        packet.extract(hdr.telemetry);
        left = hdr.telemetry.records;
        verify(left <= 4, error.ParserInvalidArgument);
        transition more;
    }

    state more {
        transition select(left) {
            0: accept;
            default: record;
        }
    }

    state record {
        packet.extract(hdr.records.next);
        left = left - 1;
        transition more;
    }
}

control SwitchVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = standard_metadata.ingress_port + 1;
        if (standard_metadata.parser_error != error.NoError) {
            mark_to_drop(standard_metadata);
        }
    }
}

control SwitchEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action set_switch(bit<16> switch_id) {
        hdr.records.push_front(1);
        hdr.records[0] = { switch_id, 0, standard_metadata.egress_port };
        hdr.telemetry.records = hdr.telemetry.records + 1;
    }

    table identity {
        actions = {
            set_switch;
        }
        default_action = set_switch(1);
    }

    apply {
        if (hdr.telemetry.records < 4) {
            identity.apply();
        }
    }
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
