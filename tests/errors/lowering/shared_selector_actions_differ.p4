#include <psa.p4>
header input_t { bit<8> kind; bit<8> value; }
struct headers_t { input_t input; }
struct meta_t { }
control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    ActionSelector(PSA_HashAlgorithm_t.CRC16, 16, 8) members;
    action known() { }
    action other() { }
    table flows {
        key = { hdr.input.kind: exact; hdr.input.value: selector; }
        actions = { known; NoAction; }
        psa_implementation = members;
    }
    table hosts {
        key = { hdr.input.kind: exact; hdr.input.value: selector; }
        actions = { other; NoAction; }
        psa_implementation = members;
    }
    apply { flows.apply(); hosts.apply(); }
}
#define INGRESS TestIngress
#include "../../stf/include/psa_skeleton.p4"
