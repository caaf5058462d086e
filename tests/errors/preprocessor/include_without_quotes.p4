#include <core.p4>
#include v1model.p4
control C(inout standard_metadata_t s) {
    apply { mark_to_drop(s); }
}
