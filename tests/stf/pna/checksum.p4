// A Checksum takes data piece by piece, and forgets it with clear().
#include <pna.p4>

header input_t {
    bit<8> first;
    bit<8> second;
    bit<32> crc32;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    Checksum<bit<32>>(PNA_HashAlgorithm_t.CRC32) sum;

    apply {
        send_to_port((PortId_t) 2);
        sum.update(16w0xffff);
        sum.clear();
        sum.update(hdr.input.first);
        sum.update({ hdr.input.second });
        hdr.input.crc32 = sum.get();
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
