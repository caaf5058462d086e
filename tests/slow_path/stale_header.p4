// Egress reads a header that may be invalid: a clone from egress would find another value there, so it cannot be noted.
#include <core.p4>
#include <v1model.p4>

header byte_t {
    bit<8> value;
}

struct headers_t {
    byte_t input;
    byte_t more;
}

struct meta_t {
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.more.setValid();
        hdr.more.value = 7;
        hdr.more.setInvalid();
        if (standard_metadata.instance_type == 0) {
            clone(CloneType.E2E, 32w7); // some: clones the packet, and stale_header.p4:26 reads `hdr.more.value`, whose header may be invalid
        }
        hdr.input.value = hdr.more.value;
    }
}

#include "../stf/include/skeleton.p4"
