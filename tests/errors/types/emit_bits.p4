#include <core.p4>
header h_t { bit<8> x; }
control D(packet_out p, in h_t h) {
    apply { p.emit(h.x); }
}
