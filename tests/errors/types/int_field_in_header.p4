#include <core.p4>
#include <v1model.p4>
header h_t { int a; bit<16> sum; }
control C(inout h_t h) {
    apply { update_checksum(true, { h.a }, h.sum, HashAlgorithm.csum16); }
}
