#include <core.p4>
header h_t { varbit<32> v; }
control C(inout h_t h) {
    apply { h.v = h.v + h.v; }
}
