#include <pna.p4>
header input_t { bit<8> kind; bit<8> value; }
struct headers_t { input_t input; }
struct meta_t { }
control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    action hit(bit<8> value) { hdr.input.value = value; }
    action miss() {
        add_entry("hit", { hdr.input.value }, (ExpireTimeProfileId_t) 2);
    }
    table flows {
        key = { hdr.input.kind: exact; }
        actions = { hit; @defaultonly miss; }
        add_on_miss = false;
        const default_action = miss();
    }
    apply { flows.apply(); }
}
#define MAIN TestMain
#include "../../stf/include/pna_skeleton.p4"
