include <core.p4>
#include <v1model.p4>
define SIZE 8
control C(inout bit<16> x) { apply { x = 1; } }
