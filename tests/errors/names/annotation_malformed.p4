// A number is missing after the operator.
#include <core.p4>
#include <v1model.p4>

struct meta_t {
    @field_list(1 +)
    bit<8> kept;
}
