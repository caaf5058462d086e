#include <core.p4>
header h_t { bit<8> a; }
control C(inout h_t h) {
    apply {
        if (valid(h)) { remove_header(h); }
        modify_field(h.a, 1);
    }
}
