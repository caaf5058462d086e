// Field lists are numbered from 0 to 255.
#include <core.p4>
#include <v1model.p4>

enum bit<16> Lists {
    far = 300
}

struct meta_t {
    @field_list(Lists.far)
    bit<8> kept;
}
