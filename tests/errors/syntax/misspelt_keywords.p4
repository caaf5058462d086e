#include <core.p4>
typdef bit<8> byte_t;
Header h_t { byte_t a; }
parsr P(packet_in p, out h_t h) {
    sate start {
        p.extract(h);
        transiton select(h.a) { 1: accept; default: next; }
    }
    state next { transiton accept; }
}
Control C(inout byte_t x) {
    actoin a() { x = 1; }
    Table t { key = { x: exact; } actions = { a; NoAction; } }
    aply {
        swich (t.apply().action_run) { a: { } }
        if (x == 1) { x = 2; } elif (x == 2) { x = 3; }
        retrun;
    }
}
