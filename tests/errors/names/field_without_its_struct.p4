#include <core.p4>
header h_t { bit<8> a; }
struct H { h_t ethernet; }
control C(inout H hdr) {
    apply { ethernet.a = 1; }
}
