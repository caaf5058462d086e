#include <core.p4>
#include <v1model.p4>
control C0() { apply { } }
control C1() { C0() a; C0() b; apply { a.apply(); b.apply(); } }
control C2() { C1() a; C1() b; apply { a.apply(); b.apply(); } }
control C3() { C2() a; C2() b; apply { a.apply(); b.apply(); } }
control C4() { C3() a; C3() b; apply { a.apply(); b.apply(); } }
control C5() { C4() a; C4() b; apply { a.apply(); b.apply(); } }
control C6() { C5() a; C5() b; apply { a.apply(); b.apply(); } }
control C7() { C6() a; C6() b; apply { a.apply(); b.apply(); } }
control C8() { C7() a; C7() b; apply { a.apply(); b.apply(); } }
control C9() { C8() a; C8() b; apply { a.apply(); b.apply(); } }
control C10() { C9() a; C9() b; apply { a.apply(); b.apply(); } }
control C11() { C10() a; C10() b; apply { a.apply(); b.apply(); } }
control C12() { C11() a; C11() b; apply { a.apply(); b.apply(); } }
control C13() { C12() a; C12() b; apply { a.apply(); b.apply(); } }
control C14() { C13() a; C13() b; apply { a.apply(); b.apply(); } }
control C15() { C14() a; C14() b; apply { a.apply(); b.apply(); } }
control C16() { C15() a; C15() b; apply { a.apply(); b.apply(); } }
control C17() { C16() a; C16() b; apply { a.apply(); b.apply(); } }
control C18() { C17() a; C17() b; apply { a.apply(); b.apply(); } }
control C19() { C18() a; C18() b; apply { a.apply(); b.apply(); } }
header h_t { bit<8> a; }
struct headers_t { h_t h; h_t[4] s; }
struct metadata_t { bit<8> x; bit<32> y; }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout headers_t h, inout metadata_t m) { apply { } }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    C19() c;
    apply { c.apply(); }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
