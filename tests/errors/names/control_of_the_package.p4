#include <core.p4>

parser P(packet_in packet);
control C(inout bit<8> number);
package Pipe(P parser_block, C control_block);

parser MyParser(packet_in packet) {
    state start {
        transition accept;
    }
}

control MyIngress(inout bit<8> number) {
    apply {
        number = number + 1;
    }
}

Pipe(MyParser(), MyIngres()) main;
