// A table's direct counter and meter may be the only elements of lists, as programs for p4c's eBPF back end write them.
#include <psa.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                    inout psa_ingress_output_metadata_t ostd) {
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS_AND_BYTES) hits;
    DirectMeter(PSA_MeterType_t.PACKETS) rate;

    action known() {
        hits.count();
        hdr.input.value = rate.execute() == PSA_MeterColor_t.GREEN ? 8w0x60 : 8w0x70;
    }

    table kinds {
        key = {
            hdr.input.kind: exact;
        }
        actions = {
            known;
            NoAction;
        }
        default_action = NoAction();
        psa_direct_counter = { hits };
        psa_direct_meter = { rate };
    }

    apply {
        send_to_port(ostd, (PortId_t) 2);
        kinds.apply();
    }
}

#include "../include/psa_skeleton.p4"
