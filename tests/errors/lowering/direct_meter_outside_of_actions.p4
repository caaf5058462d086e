#include <psa.p4>
header input_t { bit<8> kind; bit<8> value; }
struct headers_t { input_t input; }
struct meta_t { }
control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    DirectMeter(PSA_MeterType_t.PACKETS) rate;
    PSA_MeterColor_t color = rate.execute(PSA_MeterColor_t.GREEN);
    table flows {
        key = { hdr.input.kind: exact; }
        actions = { NoAction; }
        psa_direct_meter = rate;
    }
    table colors {
        key = { rate.execute(PSA_MeterColor_t.GREEN): exact @name("color"); }
        actions = { NoAction; }
    }
    apply {
        flows.apply();
        colors.apply();
        if (color == PSA_MeterColor_t.RED) { hdr.input.value = 1; }
    }
}
#define INGRESS TestIngress
#include "../../stf/include/psa_skeleton.p4"
