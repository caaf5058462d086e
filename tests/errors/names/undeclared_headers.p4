// The blocks of a program whose header type is missing: the package says nothing of its own.
#include <v1model.p4>
struct metadata { }
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers h) { apply { } }
V1Switch(P(), V(), I(), I(), V(), D()) main;
