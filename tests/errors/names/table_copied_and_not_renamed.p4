#include <core.p4>
control C(in bit<8> x) {
    table first { key = { x: exact; } actions = { NoAction; } }
    table first { key = { x: exact; } actions = { NoAction; } }
    apply { first.apply(); second.apply(); }
}
