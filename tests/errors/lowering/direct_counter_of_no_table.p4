#include <psa.p4>
header input_t { bit<8> kind; bit<8> value; }
struct headers_t { input_t input; }
struct meta_t { }
control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) hits;
    action known() { hits.count(); }
    table flows {
        key = { hdr.input.kind: exact; }
        actions = { known; NoAction; }
        default_action = NoAction();
    }
    apply { flows.apply(); }
}
#define INGRESS TestIngress
#include "../../stf/include/psa_skeleton.p4"
