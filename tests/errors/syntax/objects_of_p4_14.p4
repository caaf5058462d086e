#include <core.p4>
#include <v1model.p4>
control C(inout bit<32> x) {
    register last { width: 32; instance_count: 1024; }
    counter seen { type: packets; }
    apply { x = 1; }
}
