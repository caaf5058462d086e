#include <core.p4>
#include <v1model.p4>
struct meta_t { bit<32> a; bit<1> b; bit<8> i; }
control C(inout meta_t m) {
    register<bit<1>>(16) seen;
    apply {
        m.b = m.a[3];
        m.b = m.a[m.i];
        m.b = seen[0];
    }
}
