// A firewall: replies from outside pass only when the inside asked first; a register indexed by a hash remembers.

#include <v1model.p4>

header flow_t {
    bit<32> source;
    bit<32> destination;
}

struct headers_t {
    flow_t flow;
}

struct meta_t {
    bit<32> slot;
    bit<1> open;
}

const bit<9> INSIDE = 1;
const bit<9> OUTSIDE = 2;

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
    register<bit<1>>(1024) open;

    action find_slot(in bit<32> inside, in bit<32> outside) {
        hash(meta.slot, HashAlgorithm.crc32, 32w0, { inside, outside }, 32w1024);
    }

    apply {
        if (standard_metadata.ingress_port == INSIDE) {
            find_slot(hdr.flow.source, hdr.flow.destination);
            open.write(meta.slot, 1);
            standard_metadata.egress_spec = OUTSIDE;
        } else {
            find_slot(hdr.flow.destination, hdr.flow.source);
            open.read(meta.open, meta.slot);
            if (meta.open == 1) {
                standard_metadata.egress_spec = INSIDE;
            } else {
                mark_to_drop(standard_metadata);
            }
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
