parser Start(inout bit<8> x);
package Pair(Start first);
control C(inout bit<8> x) { apply { } }
Pair(C()) main;
