#include <core.p4>
control C(inout standard_metadata_t s) {
    counter(8, CounterType.packets) c;
    apply { mark_to_drop(s); c.count(0); }
}
