// The parser has extracted the tag on the only path.

#include "before.p4"

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.tag.isValid()) {
            standard_metadata.egress_spec = 2;
        } else {
            standard_metadata.egress_spec = 3;
        }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

#include "after.p4"
