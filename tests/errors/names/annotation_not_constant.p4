// The number of a field list must be known at compile time.
#include <core.p4>
#include <v1model.p4>

bit<8> first() {
    return 1;
}

struct meta_t {
    @field_list(first())
    bit<8> kept;
}
