// A Meter gives RED, GREEN or YELLOW, never a better colour than the packet had before, and takes only tokens that this colour stands for.
#include <psa.p4>

header input_t {
    bit<8> index;
    bit<8> before;
}

header output_t {
    bit<8> blind;
    bit<8> aware;
}

control Test(in input_t input, inout output_t output) {
    Meter<bit<8>>(2, PSA_MeterType_t.PACKETS) blind;
    Meter<bit<8>>(3, PSA_MeterType_t.PACKETS) aware;

    apply {
        PSA_MeterColor_t color = blind.execute(input.index);
        output.blind = color == PSA_MeterColor_t.GREEN ? 8w0 : color == PSA_MeterColor_t.YELLOW ? 8w1 : 8w2;
        PSA_MeterColor_t before = PSA_MeterColor_t.GREEN;
        if (input.before == 1) {
            before = PSA_MeterColor_t.YELLOW;
        } else if (input.before == 2) {
            before = PSA_MeterColor_t.RED;
        }
        color = aware.execute(input.index, before);
        output.aware = color == PSA_MeterColor_t.GREEN ? 8w0 : color == PSA_MeterColor_t.YELLOW ? 8w1 : 8w2;
    }
}

#include "../include/psa_compute.p4"
