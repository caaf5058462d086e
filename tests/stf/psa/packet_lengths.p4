// Counters and meters may be told the packet's length, as by p4c's DPDK back end, whose psa.p4 is <psa.p4> for it. The packet's own length counts.
#include <psa.p4>

header input_t {
    bit<8> index;
}

header output_t {
    bit<8> blind;
    bit<8> aware;
}

control Test(in input_t input, inout output_t output) {
    Counter<bit<64>, bit<8>>(2, PSA_CounterType_t.PACKETS_AND_BYTES) all;
    Meter<bit<8>>(2, PSA_MeterType_t.PACKETS) blind;
    Meter<bit<8>>(2, PSA_MeterType_t.PACKETS) aware;

    apply {
        all.count(input.index);
        all.count(input.index, 64);
        PSA_MeterColor_t color = blind.dpdk_execute(input.index, 64);
        output.blind = color == PSA_MeterColor_t.GREEN ? 8w0 : color == PSA_MeterColor_t.YELLOW ? 8w1 : 8w2;
        color = aware.dpdk_execute(input.index, PSA_MeterColor_t.YELLOW, 64);
        output.aware = color == PSA_MeterColor_t.GREEN ? 8w0 : color == PSA_MeterColor_t.YELLOW ? 8w1 : 8w2;
    }
}

#include "../include/psa_compute.p4"
