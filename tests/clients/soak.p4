// For the soak test: what comes from port 3, a loopback, goes round for ever, looked up in a table of 500 entries that a
// controller changes in atomic batches.

#include <core.p4>
#include <v1model.p4>

header number_t {
    bit<48> number;
}

struct headers_t {
    number_t number;
}

struct metadata_t {
    bit<9> generation;
}

parser SoakParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.number);
        transition accept;
    }
}

control SoakVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SoakIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action set_generation(bit<9> generation) {
        meta.generation = generation;
    }

    table generations {
        key = {
            hdr.number.number: exact;
        }
        actions = {
            set_generation;
            @defaultonly NoAction;
        }
        size = 1024;
    }

    apply {
        generations.apply();
        standard_metadata.egress_spec = 3;
    }
}

control SoakEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control SoakCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SoakDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.number);
    }
}

V1Switch(SoakParser(), SoakVerify(), SoakIngress(), SoakEgress(), SoakCompute(), SoakDeparser()) main;
