// crc16 and crc32 of 1 to 40 bytes: one field, several, and a value that was put together from fields before.

#include <v1model.p4>

header input_t {
    bit<8> byte0;
    bit<8> byte1;
    bit<8> byte2;
    bit<8> byte3;
    bit<8> byte4;
    bit<8> byte5;
    bit<8> byte6;
    bit<8> byte7;
    bit<8> byte8;
    bit<8> byte9;
    bit<8> byte10;
    bit<8> byte11;
    bit<8> byte12;
    bit<8> byte13;
    bit<8> byte14;
    bit<8> byte15;
    bit<8> byte16;
    bit<8> byte17;
    bit<8> byte18;
    bit<8> byte19;
    bit<8> byte20;
    bit<8> byte21;
    bit<8> byte22;
    bit<8> byte23;
    bit<8> byte24;
    bit<8> byte25;
    bit<8> byte26;
    bit<8> byte27;
    bit<8> byte28;
    bit<8> byte29;
    bit<8> byte30;
    bit<8> byte31;
    bit<8> byte32;
    bit<8> byte33;
    bit<8> byte34;
    bit<8> byte35;
    bit<8> byte36;
    bit<8> byte37;
    bit<8> byte38;
    bit<8> byte39;
}

header result_t {
    bit<32> crc32;
    bit<32> crc16;
}

struct headers_t {
    input_t input;
    result_t[18] results;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.results[0].setValid();
        hash(hdr.results[0].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0 }, 33w0x1_0000_0000);
        hash(hdr.results[0].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0 }, 33w0x1_0000_0000);
        hdr.results[1].setValid();
        hash(hdr.results[1].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1 }, 33w0x1_0000_0000);
        hash(hdr.results[1].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1 }, 33w0x1_0000_0000);
        hdr.results[2].setValid();
        hash(hdr.results[2].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2 }, 33w0x1_0000_0000);
        hash(hdr.results[2].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2 }, 33w0x1_0000_0000);
        hdr.results[3].setValid();
        hash(hdr.results[3].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3 }, 33w0x1_0000_0000);
        hash(hdr.results[3].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3 }, 33w0x1_0000_0000);
        hdr.results[4].setValid();
        hash(hdr.results[4].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6 }, 33w0x1_0000_0000);
        hash(hdr.results[4].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6 }, 33w0x1_0000_0000);
        hdr.results[5].setValid();
        hash(hdr.results[5].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7 }, 33w0x1_0000_0000);
        hash(hdr.results[5].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7 }, 33w0x1_0000_0000);
        hdr.results[6].setValid();
        hash(hdr.results[6].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8 }, 33w0x1_0000_0000);
        hash(hdr.results[6].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8 }, 33w0x1_0000_0000);
        hdr.results[7].setValid();
        hash(hdr.results[7].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12 }, 33w0x1_0000_0000);
        hash(hdr.results[7].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12 }, 33w0x1_0000_0000);
        hdr.results[8].setValid();
        hash(hdr.results[8].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14 }, 33w0x1_0000_0000);
        hash(hdr.results[8].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14 }, 33w0x1_0000_0000);
        hdr.results[9].setValid();
        hash(hdr.results[9].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14, hdr.input.byte15 }, 33w0x1_0000_0000);
        hash(hdr.results[9].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14, hdr.input.byte15 }, 33w0x1_0000_0000);
        hdr.results[10].setValid();
        hash(hdr.results[10].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14, hdr.input.byte15, hdr.input.byte16 }, 33w0x1_0000_0000);
        hash(hdr.results[10].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14, hdr.input.byte15, hdr.input.byte16 }, 33w0x1_0000_0000);
        hdr.results[11].setValid();
        hash(hdr.results[11].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14, hdr.input.byte15, hdr.input.byte16, hdr.input.byte17, hdr.input.byte18 }, 33w0x1_0000_0000);
        hash(hdr.results[11].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14, hdr.input.byte15, hdr.input.byte16, hdr.input.byte17, hdr.input.byte18 }, 33w0x1_0000_0000);
        hdr.results[12].setValid();
        hash(hdr.results[12].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14, hdr.input.byte15, hdr.input.byte16, hdr.input.byte17, hdr.input.byte18, hdr.input.byte19, hdr.input.byte20, hdr.input.byte21, hdr.input.byte22, hdr.input.byte23, hdr.input.byte24, hdr.input.byte25, hdr.input.byte26, hdr.input.byte27, hdr.input.byte28, hdr.input.byte29, hdr.input.byte30 }, 33w0x1_0000_0000);
        hash(hdr.results[12].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14, hdr.input.byte15, hdr.input.byte16, hdr.input.byte17, hdr.input.byte18, hdr.input.byte19, hdr.input.byte20, hdr.input.byte21, hdr.input.byte22, hdr.input.byte23, hdr.input.byte24, hdr.input.byte25, hdr.input.byte26, hdr.input.byte27, hdr.input.byte28, hdr.input.byte29, hdr.input.byte30 }, 33w0x1_0000_0000);
        hdr.results[13].setValid();
        hash(hdr.results[13].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14, hdr.input.byte15, hdr.input.byte16, hdr.input.byte17, hdr.input.byte18, hdr.input.byte19, hdr.input.byte20, hdr.input.byte21, hdr.input.byte22, hdr.input.byte23, hdr.input.byte24, hdr.input.byte25, hdr.input.byte26, hdr.input.byte27, hdr.input.byte28, hdr.input.byte29, hdr.input.byte30, hdr.input.byte31 }, 33w0x1_0000_0000);
        hash(hdr.results[13].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14, hdr.input.byte15, hdr.input.byte16, hdr.input.byte17, hdr.input.byte18, hdr.input.byte19, hdr.input.byte20, hdr.input.byte21, hdr.input.byte22, hdr.input.byte23, hdr.input.byte24, hdr.input.byte25, hdr.input.byte26, hdr.input.byte27, hdr.input.byte28, hdr.input.byte29, hdr.input.byte30, hdr.input.byte31 }, 33w0x1_0000_0000);
        hdr.results[14].setValid();
        hash(hdr.results[14].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14, hdr.input.byte15, hdr.input.byte16, hdr.input.byte17, hdr.input.byte18, hdr.input.byte19, hdr.input.byte20, hdr.input.byte21, hdr.input.byte22, hdr.input.byte23, hdr.input.byte24, hdr.input.byte25, hdr.input.byte26, hdr.input.byte27, hdr.input.byte28, hdr.input.byte29, hdr.input.byte30, hdr.input.byte31, hdr.input.byte32 }, 33w0x1_0000_0000);
        hash(hdr.results[14].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14, hdr.input.byte15, hdr.input.byte16, hdr.input.byte17, hdr.input.byte18, hdr.input.byte19, hdr.input.byte20, hdr.input.byte21, hdr.input.byte22, hdr.input.byte23, hdr.input.byte24, hdr.input.byte25, hdr.input.byte26, hdr.input.byte27, hdr.input.byte28, hdr.input.byte29, hdr.input.byte30, hdr.input.byte31, hdr.input.byte32 }, 33w0x1_0000_0000);
        hdr.results[15].setValid();
        hash(hdr.results[15].crc32, HashAlgorithm.crc32, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14, hdr.input.byte15, hdr.input.byte16, hdr.input.byte17, hdr.input.byte18, hdr.input.byte19, hdr.input.byte20, hdr.input.byte21, hdr.input.byte22, hdr.input.byte23, hdr.input.byte24, hdr.input.byte25, hdr.input.byte26, hdr.input.byte27, hdr.input.byte28, hdr.input.byte29, hdr.input.byte30, hdr.input.byte31, hdr.input.byte32, hdr.input.byte33, hdr.input.byte34, hdr.input.byte35, hdr.input.byte36, hdr.input.byte37, hdr.input.byte38, hdr.input.byte39 }, 33w0x1_0000_0000);
        hash(hdr.results[15].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12, hdr.input.byte13, hdr.input.byte14, hdr.input.byte15, hdr.input.byte16, hdr.input.byte17, hdr.input.byte18, hdr.input.byte19, hdr.input.byte20, hdr.input.byte21, hdr.input.byte22, hdr.input.byte23, hdr.input.byte24, hdr.input.byte25, hdr.input.byte26, hdr.input.byte27, hdr.input.byte28, hdr.input.byte29, hdr.input.byte30, hdr.input.byte31, hdr.input.byte32, hdr.input.byte33, hdr.input.byte34, hdr.input.byte35, hdr.input.byte36, hdr.input.byte37, hdr.input.byte38, hdr.input.byte39 }, 33w0x1_0000_0000);
        bit<104> together = hdr.input.byte0 ++ hdr.input.byte1 ++ hdr.input.byte2 ++ hdr.input.byte3 ++ hdr.input.byte4 ++ hdr.input.byte5 ++ hdr.input.byte6 ++ hdr.input.byte7 ++ hdr.input.byte8 ++ hdr.input.byte9 ++ hdr.input.byte10 ++ hdr.input.byte11 ++ hdr.input.byte12;
        hdr.results[16].setValid();
        hash(hdr.results[16].crc32, HashAlgorithm.crc32, 32w0, { together, hdr.input.byte39 }, 33w0x1_0000_0000);
        hash(hdr.results[16].crc16, HashAlgorithm.crc16, 32w0, { together[103:64], together[63:0] }, 33w0x1_0000_0000);
        // The value keeps what the field was; the fields that are named themselves have what they are now.
        hdr.input.byte3 = hdr.input.byte3 + 1;
        hdr.results[17].setValid();
        hash(hdr.results[17].crc32, HashAlgorithm.crc32, 32w0, { together }, 33w0x1_0000_0000);
        hash(hdr.results[17].crc16, HashAlgorithm.crc16, 32w0, { hdr.input.byte0, hdr.input.byte1, hdr.input.byte2, hdr.input.byte3, hdr.input.byte4, hdr.input.byte5, hdr.input.byte6, hdr.input.byte7, hdr.input.byte8, hdr.input.byte9, hdr.input.byte10, hdr.input.byte11, hdr.input.byte12 }, 33w0x1_0000_0000);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
