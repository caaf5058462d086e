// @field_list says in which lists a field is.
#include <core.p4>
#include <v1model.p4>

struct meta_t {
    @field_list
    bit<8> kept;
    @field_list("kept")
    bit<8> also;
    @field_list()
    bit<8> of_no_list;
}
