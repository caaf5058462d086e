#include <core.p4>
header ethernet_t { bit<48> source; bit<48> destination bit<16> kind; }
struct headers_t { ethernet_t ethernet; }
control C(inout headers_t h, in bit<8> ttl) {
    action drop() { ttl = 0; }
    table t {
        key = { h.ethernet.destination: exact; }
        actions = { drop; forward; }
    }
    apply {
        if (h.ethernet.isvalid()) { t.apply(); }
        h.ethernet.kind = ttl;
    }
}
