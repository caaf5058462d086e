// Egress asks what ingress has decided.

#include "before.p4"

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
        if (hdr.tag.number == 7) {
            meta.is_known = 1;
        }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.is_known == 1) {
            hdr.tag.setInvalid();
        }
    }
}

#include "after.p4"
