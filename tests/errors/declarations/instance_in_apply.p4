#include <core.p4>
#include <v1model.p4>
control C(inout bit<8> x) {
    action a() {
        counter(4, CounterType.packets) c;
    }
    apply {
        register<bit<8>>(16) r;
        r.read(x, 0);
        a();
    }
}
