// Source routing: the packet carries its list of ports, each switch takes the first; with the last one the list is
// gone.

#include <v1model.p4>

header hop_t {
    bit<1> last;
    bit<7> port;
}

struct headers_t {
    hop_t[8] hops;
}

struct meta_t {}

parser SwitchParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.hops.next);
        transition select(hdr.hops.last.last) {
            1: accept;
            default: start;
        }
    }
}

control SwitchVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.parser_error == error.NoError) {
            standard_metadata.egress_spec = (bit<9>)hdr.hops[0].port;
            hdr.hops.pop_front(1);
        } else {
            mark_to_drop(standard_metadata);
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
