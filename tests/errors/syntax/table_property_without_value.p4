#include <core.p4>
control C() {
    table t { key = ; actions = { } }
    apply { }
}
