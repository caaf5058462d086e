#include <core.p4>
parser P(packet_in p) { state start { transition accept; } }
control C(packet_in p) {
    P() q;
    apply { q.apply(p); }
}
