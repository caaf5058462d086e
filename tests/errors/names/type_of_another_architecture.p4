#include <core.p4>
#include <psa.p4>
control C(inout bit<8> x, inout standard_metadata_t standard_metadata) {
    register<bit<8>, bit<8>>(4) seen;
    apply {
        x = seen.read(0);
    }
}
