#include <core.p4>
#include <psa.p4>
control C(inout bit<8> x, inout psa_ingress_output_metadata_t ostd) {
    apply {
        mark_to_drop(ostd);
        truncate(100);
    }
}
