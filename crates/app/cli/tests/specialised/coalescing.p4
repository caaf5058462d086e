// A header moves to another one.

#include "before.p4"

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
        hdr.new_tag = hdr.tag;
        hdr.tag.setInvalid();
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.new_tag.number = hdr.new_tag.number + 1;
    }
}

#include "after.p4"
