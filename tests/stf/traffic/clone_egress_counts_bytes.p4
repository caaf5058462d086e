// Clones from egress, and clones of these, are counted with the length of the frame that came.
#include <v1model.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct meta_t {
    @field_list(1)
    bit<8> rounds;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    counter(4, CounterType.packets_and_bytes) by_round;

    apply {
        by_round.count((bit<32>) meta.rounds);
        if (meta.rounds < 2) {
            meta.rounds = meta.rounds + 1;
            clone_preserving_field_list(CloneType.E2E, 5, 1);
        }
    }
}

control Compute(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(TestParser(), Verify(), TestIngress(), TestEgress(), Compute(), TestDeparser()) main;
