// Egress reads a header that a short packet has not, after it has written it: a clone from egress cannot be noted.
#include <core.p4>
#include <v1model.p4>

header byte_t {
    bit<8> value;
}

struct headers_t {
    byte_t input;
}

struct meta_t {
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 0) {
            clone(CloneType.E2E, 32w7); // some: clones the packet, and stale_header.p4:22 reads `hdr.input.value`, whose header may be invalid
        }
        hdr.input.value[3:0] = (bit<4>) standard_metadata.priority;
    }
}

#include "../stf/include/skeleton.p4"
