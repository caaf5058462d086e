#include <core.p4>
control Ingress(in bit<8> x) {
    action a() { }
    table acl { key = { x: exact; } actions = { a; NoAction; } }
    apply { acl.apply(); }
}
control Egress(in bit<8> x) {
    apply { acl.apply(); a(); }
}
