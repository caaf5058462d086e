// A header is extracted with one length, so it can have one field of variable length.
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> length; varbit<64> one; varbit<64> two; }
struct H { h_t h; }
struct M { }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h.h); } }
V1Switch(P(), V(), I(), I(), V(), D()) main;
