#include <v1model.p4>
header item_t { bit<8> x; }
header_union choice_t { item_t a; item_t b; }
struct H { item_t[4] stack; choice_t choice; }
struct M { bit<8> y; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start {
        h.choice.a.setValid();
        h.choice.a.x = 1;
        m.y = h.choice.b.x;
        h.stack[1].setValid();
        h.stack[1].x = h.stack[0].x;
        p.extract(h.stack.next);
        m.y = m.y + h.stack[0].x;
        transition accept;
    }
}
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    bit<8>[4] values;
    bit<16> wide;
    item_t[2] others;
    apply {
        values[1] = 1;
        m.y = values[1] + values[2];
        m.y = m.y + wide[7:0];
        wide[7:0] = m.y;
        m.y = m.y + wide[15:8];
        others[0].x = m.y;
        others[m.y].setValid();
        others[1].x = m.y;
        h.stack[1].setInvalid();
        m.y = m.y + h.stack[1].x;
        h.stack.push_front(1);
        m.y = m.y + h.stack[1].x;
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
