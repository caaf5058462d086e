#include <core.p4>
control C() { apply { } }
parser P(packet_in p) {
    C() c;
    state start { c.apply(); transition accept; }
}
