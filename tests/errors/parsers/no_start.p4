#include <core.p4>
parser P(packet_in p) {
    state begin { transition accept; }
}
