// Metadata for recirculated packets is no obstacle in a PSA program whose ingress chooses constant ports alone, none of which is that of recirculation.
#include <core.p4>
#include <psa.p4>

header byte_t {
    bit<8> value;
}

struct headers_t {
    byte_t input;
}

struct meta_t {
    bit<8> mark;
}

#define RECIRCULATE meta_t
#include "../stf/include/psa_skeleton.p4"
