#include <core.p4>
#include <v1model.p4>
struct meta_t { bit<8> a; bit<16> h; }
control C(inout meta_t m) {
    register<bit<8>>(16) seen;
    apply {
        m.a = seen.read(0);
        m.h = hash(HashAlgorithm.crc16, 16w0, { m.a }, 16w64);
    }
}
