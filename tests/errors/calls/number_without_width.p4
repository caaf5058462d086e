#include <core.p4>
#include <v1model.p4>
control C(inout bit<16> x) {
    apply {
        hash(x, HashAlgorithm.crc16, 16w0, { x, 17 }, 16w100);
        hash(x, HashAlgorithm.crc16, 0, { x }, 16w100);
    }
}
