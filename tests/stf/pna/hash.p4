// Hash gives CRC-32, CRC-16 and the data itself, or a value in a range.
#include <pna.p4>

header input_t {
    bit<8> first;
    bit<8> second;
    bit<32> crc32;
    bit<16> crc16;
    bit<16> same;
    bit<16> ranged;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    Hash<bit<32>>(PNA_HashAlgorithm_t.CRC32) crc32;
    Hash<bit<16>>(PNA_HashAlgorithm_t.CRC16) crc16;
    Hash<bit<16>>(PNA_HashAlgorithm_t.IDENTITY) identity;

    apply {
        send_to_port((PortId_t) 2);
        hdr.input.crc32 = crc32.get_hash({ hdr.input.first, hdr.input.second });
        hdr.input.crc16 = crc16.get_hash({ hdr.input.first, hdr.input.second });
        hdr.input.same = identity.get_hash({ hdr.input.first, hdr.input.second });
        hdr.input.ranged = crc16.get_hash(16w100, { hdr.input.first, hdr.input.second }, 16w50);
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
