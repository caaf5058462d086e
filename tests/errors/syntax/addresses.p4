#include <core.p4>
control C(in bit<32> x, out bit<32> y, inout bit<48> mac) {
    table t {
        key = { x: ternary; }
        actions = { NoAction; }
        const entries = {
            10.0.0.0/8: NoAction();
            192.168.1.0 &&& 0xffffff00: NoAction();
        }
    }
    table macs {
        key = { mac: exact; }
        actions = { NoAction; }
        const entries = { 00:11:22:33:44:55: NoAction(); }
    }
    apply { t.apply(); macs.apply(); y = 10.0.0.1; if (mac == 00:11:22:33:44:55) { mac = ca:fe:00:00:00:01; } }
}
