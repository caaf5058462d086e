#include <core.p4>
header h_t { bit<8> a; }
struct headers_t { h_t h; }
parser P(packet_in p, out headers_t hdr) {
    state start { extract(hdr.h); transition accept; }
}
control C(inout headers_t hdr) {
    table t { key = { hdr.h.a : exact; } actions = { NoAction; } }
    apply {
        bool done = True;
        if (isValid(hdr.h)) { apply(t); }
        if (done) { setInvalid(hdr.h); printf("done"); }
    }
}
control D(packet_out p, in headers_t hdr) {
    apply { emit(hdr.h); }
}
