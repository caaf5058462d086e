// Tables may have a direct counter, a direct meter and an action profile; a Counter counts by index.
#include <psa.p4>

header input_t {
    bit<8> key;
}

header output_t {
    bit<8> color;
    bit<8> value;
}

control Test(in input_t input, inout output_t output) {
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) hits;
    DirectMeter(PSA_MeterType_t.PACKETS) rate;
    ActionProfile(4) profile;
    Counter<bit<32>, bit<8>>(8, PSA_CounterType_t.PACKETS_AND_BYTES) all;

    action measure() {
        hits.count();
        output.color = rate.execute() == PSA_MeterColor_t.GREEN ? 8w1 : 8w2;
    }

    action give(bit<8> value) {
        output.value = value;
    }

    table measured {
        key = {
            input.key: exact;
        }
        actions = {
            measure;
        }
        psa_direct_counter = hits;
        psa_direct_meter = rate;
        psa_idle_timeout = PSA_IdleTimeout_t.NOTIFY_CONTROL;
    }

    table given {
        key = {
            input.key: exact;
        }
        actions = {
            give;
        }
        psa_implementation = profile;
    }

    apply {
        all.count(input.key);
        measured.apply();
        given.apply();
    }
}

#include "../include/psa_compute.p4"
