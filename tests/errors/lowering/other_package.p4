#include <core.p4>
control C(inout bit<8> x);
package Device(C c);
control Mine(inout bit<8> x) { apply { x = 1; } }
Device(Mine()) main;
