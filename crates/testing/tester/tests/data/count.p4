// Drops every second frame, counted in a register.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> kind;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {
}

parser CountParser(packet_in packet, out headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition accept;
    }
}

control CountVerify(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control CountIngress(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    register<bit<32>>(1) frames;

    apply {
        bit<32> count;
        frames.read(count, 0);
        count = count + 1;
        frames.write(0, count);
        standard.egress_spec = 3;
        if (count[0:0] == 1) {
            mark_to_drop(standard);
        }
    }
}

control CountEgress(inout headers_t headers, inout metadata_t metadata, inout standard_metadata_t standard) {
    apply { }
}

control CountCompute(inout headers_t headers, inout metadata_t metadata) {
    apply { }
}

control CountDeparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
    }
}

V1Switch(CountParser(), CountVerify(), CountIngress(), CountEgress(), CountCompute(), CountDeparser()) main;
