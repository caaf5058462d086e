// Copies for a multicast group, of which egress drops those that fail an assertion, after ingress has written a register.

#include <v1model.p4>

header input_t {
    bit<8> forbidden;
    bit<8> count;
    bit<8> copy;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<8>>(1) packets;

    apply {
        bit<8> count;
        packets.read(count, 0);
        packets.write(0, count + 1);
        hdr.input.count = count;
        standard_metadata.mcast_grp = 1;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    counter(4, CounterType.packets) copies;

    apply {
        copies.count((bit<32>) standard_metadata.egress_rid);
        assert(hdr.input.forbidden != (bit<8>) standard_metadata.egress_port);
        hdr.input.copy = (bit<8>) standard_metadata.egress_rid;
    }
}

#include "../include/skeleton.p4"
