#include <core.p4>
#include <v1model.p4>
struct meta_t { bit<8> a; bit<16> h; }
control C(inout meta_t m) {
    apply {
        hash(m.h, HashAlgorithm.crc16, { m.a });
    }
}
