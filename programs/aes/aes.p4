// Encrypts the 16 bytes after a UDP header with AES (FIPS 197), two rounds a pass: the packet recirculates until all rounds are
// done. See README.md.

#include <core.p4>
#include <v1model.p4>
#include "../common/headers.p4"

// Rounds: 10 for keys of 128 bits, 12 for 192, 14 for 256.
#ifndef ROUNDS
#define ROUNDS 10
#endif
// Recirculation ports as a number of bits: each pass goes to one of them at random.
#ifndef PORT_BITS
#define PORT_BITS 0
#endif

#if ROUNDS != 10 && ROUNDS != 12 && ROUNDS != 14
#error "ROUNDS must be 10, 12 or 14"
#endif

// UDP destination ports: of packets to encrypt, and of those that are being encrypted.
const bit<16> PORT_PLAINTEXT = 5555;
const bit<16> PORT_INSIDE = 5556;

const bit<32> INSTANCE_RECIRCULATED = 4;

// The state of AES: a word is a column, its highest byte row 0.
header block_t {
    bit<32> column0;
    bit<32> column1;
    bit<32> column2;
    bit<32> column3;
}

// Only while a packet is inside.
header inside_t {
    bit<16> output_port;
    bit<8> round;
    bit<8> reserved;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
    block_t block;
    inside_t inside;
}

// Four words: a round's key.
struct round_key_t {
    bit<32> word0;
    bit<32> word1;
    bit<32> word2;
    bit<32> word3;
}

struct metadata_t {
    round_key_t whitening;
    round_key_t odd;
    round_key_t even;
}

parser AesParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.protocol) {
            (4, 5, IP_PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(standard_metadata.instance_type, hdr.udp.dst_port) {
            (INSTANCE_RECIRCULATED, PORT_INSIDE): parse_inside;
            (_, PORT_PLAINTEXT): parse_block;
            default: accept;
        }
    }

    state parse_block {
        packet.extract(hdr.block);
        transition accept;
    }

    state parse_inside {
        packet.extract(hdr.block);
        packet.extract(hdr.inside);
        transition accept;
    }
}

control AesVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

// SubBytes and MixColumns of a byte in row 0: 2 s, s, s, 3 s, where s is the byte's entry of the S-box.
control SubstituteAndMix(in bit<8> value, out bit<32> mixed) {
    @hidden
    action become(bit<32> column) {
        mixed = column;
    }

    @hidden
    table substitutions {
        key = {
            value: exact;
        }
        actions = {
            become;
        }
        const entries = {
#include "../common/aes_substitutions.p4"
        }
        const default_action = become(0);
        size = 256;
    }

    apply {
        substitutions.apply();
    }
}

#define BYTE(word, row) (word)[31 - 8 * (row):24 - 8 * (row)]
#define ROTATE_RIGHT(word, bits) ((word)[(bits) - 1:0] ++ (word)[31:(bits)])

// A round: SubBytes, ShiftRows, MixColumns but in the last round, AddRoundKey.
control EncryptionRound(inout block_t block, in round_key_t round_key, in bool is_last) {
#define LOOK_UP(r, c) SubstituteAndMix() substitute_##r##c; bit<32> mixed_##r##c;
#define LOOK_UP_COLUMN(c) LOOK_UP(0, c) LOOK_UP(1, c) LOOK_UP(2, c) LOOK_UP(3, c)
    LOOK_UP_COLUMN(0)
    LOOK_UP_COLUMN(1)
    LOOK_UP_COLUMN(2)
    LOOK_UP_COLUMN(3)

    // Bytes of row r come from r columns further on. Pairs are added first: a sum of five takes three stages so, not four.
#define MIX(c0, c1, c2, c3)                                                                                  \
    block.column##c0 = ((mixed_0##c0 ^ round_key.word##c0) ^ ROTATE_RIGHT(mixed_1##c1, 8)) ^                 \
                       (ROTATE_RIGHT(mixed_2##c2, 16) ^ ROTATE_RIGHT(mixed_3##c3, 24));
#define SUBSTITUTED(word) (word)[15:8]
#define DO_NOT_MIX(c0, c1, c2, c3)                                                                           \
    block.column##c0 = (SUBSTITUTED(mixed_0##c0) ++ SUBSTITUTED(mixed_1##c1) ++ SUBSTITUTED(mixed_2##c2) ++  \
                        SUBSTITUTED(mixed_3##c3)) ^ round_key.word##c0;

    action mix_and_add_key() {
        MIX(0, 1, 2, 3)
        MIX(1, 2, 3, 0)
        MIX(2, 3, 0, 1)
        MIX(3, 0, 1, 2)
    }

    action add_key() {
        DO_NOT_MIX(0, 1, 2, 3)
        DO_NOT_MIX(1, 2, 3, 0)
        DO_NOT_MIX(2, 3, 0, 1)
        DO_NOT_MIX(3, 0, 1, 2)
    }

#define SUBSTITUTE(r, c) substitute_##r##c.apply(BYTE(block.column##c, r), mixed_##r##c);
#define SUBSTITUTE_COLUMN(c) SUBSTITUTE(0, c) SUBSTITUTE(1, c) SUBSTITUTE(2, c) SUBSTITUTE(3, c)

    apply {
        SUBSTITUTE_COLUMN(0)
        SUBSTITUTE_COLUMN(1)
        SUBSTITUTE_COLUMN(2)
        SUBSTITUTE_COLUMN(3)
        if (is_last) {
            add_key();
        } else {
            mix_and_add_key();
        }
    }
}

control AesIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    EncryptionRound() odd_round;
    EncryptionRound() even_round;
    bit<8> choice;
    bit<16> output_port;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    // The key that is added before the first round, and where packets leave.
    action encrypt(bit<9> port, bit<32> word0, bit<32> word1, bit<32> word2, bit<32> word3) {
        output_port = (bit<16>) port;
        meta.whitening = { word0, word1, word2, word3 };
    }

    table flows {
        key = {
            hdr.ipv4.dst_addr: exact;
        }
        actions = {
            encrypt;
            @defaultonly drop;
        }
        default_action = drop();
        size = 16;
    }

#define ROUND_KEYS(which)                                                                            \
    action set_##which(bit<32> word0, bit<32> word1, bit<32> word2, bit<32> word3) {                 \
        meta.which = { word0, word1, word2, word3 };                                                 \
    }                                                                                                \
    table which##_keys {                                                                             \
        key = {                                                                                      \
            hdr.inside.round: exact;                                                                 \
        }                                                                                            \
        actions = {                                                                                  \
            set_##which;                                                                             \
            NoAction;                                                                                \
        }                                                                                            \
        default_action = NoAction();                                                                 \
        size = 8;                                                                                    \
    }

    // By the number of rounds that are done: the key of the next one, and of the one after it.
    ROUND_KEYS(odd)
    ROUND_KEYS(even)

    action send(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    table recirculation_ports {
        key = {
            choice: exact;
        }
        actions = {
            send;
            drop;
        }
        default_action = drop();
        size = 256;
    }

    action begin() {
        hdr.inside.setValid();
        hdr.inside.output_port = output_port;
        hdr.inside.round = 0;
        hdr.inside.reserved = 0;
        hdr.udp.dst_port = PORT_INSIDE;
        // UDP without a checksum.
        hdr.udp.checksum = 0;
        hdr.block.column0 = hdr.block.column0 ^ meta.whitening.word0;
        hdr.block.column1 = hdr.block.column1 ^ meta.whitening.word1;
        hdr.block.column2 = hdr.block.column2 ^ meta.whitening.word2;
        hdr.block.column3 = hdr.block.column3 ^ meta.whitening.word3;
    }

    action complete() {
        standard_metadata.egress_spec = (bit<9>) hdr.inside.output_port;
        hdr.inside.setInvalid();
        hdr.udp.dst_port = PORT_PLAINTEXT;
    }

    apply {
        if (!hdr.block.isValid() || standard_metadata.parser_error != error.NoError) {
            drop();
            return;
        }
        if (!hdr.inside.isValid()) {
            if (flows.apply().miss) {
                return;
            }
            begin();
        }
        bool has_keys = odd_keys.apply().hit;
        if (even_keys.apply().miss) {
            has_keys = false;
        }
        bool is_last = hdr.inside.round == ROUNDS - 2;
        hdr.inside.round = hdr.inside.round + 2;
        odd_round.apply(hdr.block, meta.odd, false);
        even_round.apply(hdr.block, meta.even, is_last);
        choice = 0;
#if PORT_BITS > 0
        random(choice, 0, (1 << PORT_BITS) - 1);
#endif
        if (!has_keys) {
            drop();
        } else if (is_last) {
            complete();
        } else {
            recirculation_ports.apply();
        }
    }
}

control AesEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.inside.isValid()) {
            recirculate_preserving_field_list(0);
        }
    }
}

control AesComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control AesDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.block);
        packet.emit(hdr.inside);
    }
}

V1Switch(AesParser(), AesVerifyChecksum(), AesIngress(), AesEgress(), AesComputeChecksum(), AesDeparser()) main;
