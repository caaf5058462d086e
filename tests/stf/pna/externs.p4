// Counters, registers, meters, hashes, checksums and random numbers are those of PSA.
#include <pna.p4>

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

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    Counter<bit<32>, bit<8>>(4, PNA_CounterType_t.PACKETS) seen;
    Register<bit<8>, bit<8>>(4, 9) last;
    Meter<bit<8>>(4, PNA_MeterType_t.PACKETS) rate;
    Random<bit<8>>(5, 5) five;
    InternetChecksum() checksum;

    apply {
        send_to_port((PortId_t) 2);
        seen.count(hdr.input.kind);
        meta.mark = last.read(hdr.input.kind);
        last.write(hdr.input.kind, hdr.input.value);
        checksum.clear();
        checksum.add({ hdr.input.kind, hdr.input.value });
        bit<16> sum = checksum.get();
        hdr.input.value = sum[7:0];
        hdr.input.kind = meta.mark + five.read();
        if (rate.execute(8w0) != PNA_MeterColor_t.GREEN) {
            hdr.input.kind = 0;
        }
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
