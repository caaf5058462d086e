// mcast_grp counts, not egress_spec; a later mark_to_drop clears it, an earlier one does not.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        mark_to_drop(standard_metadata);
        standard_metadata.mcast_grp = 5;
        if (hdr.input.a == 1) {
            standard_metadata.egress_spec = 7;
        } else if (hdr.input.a == 2) {
            mark_to_drop(standard_metadata);
        }
    }
}

#include "../include/skeleton.p4"
