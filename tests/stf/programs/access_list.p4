// A five-tuple access list with priorities: ternary addresses, port ranges, a default; counters tell which rule was
// used.

#include <v1model.p4>

header packet_t {
    bit<32> source;
    bit<32> destination;
    bit<8> protocol;
    bit<16> source_port;
    bit<16> destination_port;
}

struct headers_t {
    packet_t fields;
}

struct meta_t {}

parser SwitchParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.fields);
        transition accept;
    }
}

control SwitchVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    counter(4, CounterType.packets) used;

    action permit(bit<9> port, bit<32> rule) {
        used.count(rule);
        standard_metadata.egress_spec = port;
    }

    action deny(bit<32> rule) {
        used.count(rule);
        mark_to_drop(standard_metadata);
    }

    table rules {
        key = {
            hdr.fields.source: ternary;
            hdr.fields.destination: ternary;
            hdr.fields.protocol: exact;
            hdr.fields.destination_port: range;
        }
        actions = {
            permit;
            deny;
        }
        default_action = deny(0);
    }

    apply {
        rules.apply();
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
