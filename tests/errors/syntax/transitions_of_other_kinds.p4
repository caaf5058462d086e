#include <core.p4>
header h_t { bit<8> kind; }
parser P(packet_in p, out h_t h) {
    state start {
        p.extract(h);
        if (h.kind == 0) { transition reject; }
        goto more;
    }
    state more { transition last(); }
    state last { transition ingress; }
}
