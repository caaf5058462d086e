// A loop of three rounds.

#include "before.p4"

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
        for (bit<8> round = 0; round < 3; round = round + 1) {
            hdr.tag.number = hdr.tag.number ^ hdr.ethernet.ether_type;
        }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

#include "after.p4"
