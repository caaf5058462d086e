// Encrypts and authenticates a short plaintext with Ascon-128 (Dobraunig, Eichlseder, Mendel, Schläffer: Ascon v1.2, 2021), a few
// rounds of its permutation a pass: the packet recirculates until all rounds are done. See README.md.

#include <core.p4>
#include <v1model.p4>
#include "../common/headers.p4"

// Words of 64 bits in a plaintext: 1 to 4.
#ifndef PLAINTEXT_WORDS
#define PLAINTEXT_WORDS 1
#endif
// Rounds of the permutation a pass: 1 or 2 in ingress, 0, 1 or 2 in egress.
#ifndef INGRESS_ROUNDS
#define INGRESS_ROUNDS 1
#endif
#ifndef EGRESS_ROUNDS
#define EGRESS_ROUNDS 1
#endif
// Recirculation ports as a number of bits: each pass goes to one of them at random.
#ifndef PORT_BITS
#define PORT_BITS 0
#endif

#if PLAINTEXT_WORDS < 1 || PLAINTEXT_WORDS > 4
#error "PLAINTEXT_WORDS must be 1 to 4"
#endif
#if INGRESS_ROUNDS < 1 || INGRESS_ROUNDS > 2 || EGRESS_ROUNDS < 0 || EGRESS_ROUNDS > INGRESS_ROUNDS
#error "INGRESS_ROUNDS must be 1 or 2, EGRESS_ROUNDS 0 to INGRESS_ROUNDS"
#endif

#define PLAINTEXT_BITS (64 * PLAINTEXT_WORDS)
// The ciphertext of one word has room for a second one.
#if PLAINTEXT_WORDS == 1
#define CIPHERTEXT_BITS 128
#else
#define CIPHERTEXT_BITS PLAINTEXT_BITS
#endif

// Bit positions of word i, the first one being the highest.
#define WORD(value, bits, i) (value)[(bits) - 64 * (i) - 1:(bits) - 64 * (i) - 64]

// IEEE 802's EtherTypes for experiments, and two that packets have only while they are inside.
const bit<16> ETHERTYPE_PLAINTEXT = 0x88b5;
const bit<16> ETHERTYPE_CIPHERTEXT = 0x88b6;
const bit<16> ETHERTYPE_STATE = 0x0a50;
const bit<16> ETHERTYPE_STATE_AND_CIPHERTEXT = 0x0a51;

const bit<32> INSTANCE_RECIRCULATED = 4;

// Key of 128 bits, nonce of 128 bits, tag of 128 bits, words of 64 bits, permutations of 12 and 6 rounds.
const bit<64> INITIAL_VALUE = 0x80400c0600000000;

// What comes after a permutation, by its number: 0 is the initialisation, 1 follows the associated data, 2 and further ones follow
// a word of plaintext, and the last one is the finalisation.
const bit<4> PERMUTATION_ASSOCIATED = 1;
const bit<4> PERMUTATION_LAST = PLAINTEXT_WORDS + 2;
// A permutation ends with round 11; short ones begin with round 6.
const bit<4> ROUND_SHORT = 6;
const bit<4> ROUND_END = 12;

header request_t {
    // Bytes of plaintext.
    bit<8> length_;
}

header plaintext_t {
    bit<PLAINTEXT_BITS> words;
}

header state_t {
    bit<64> x0;
    bit<64> x1;
    bit<64> x2;
    bit<64> x3;
    bit<64> x4;
    bit<4> permutation;
    bit<4> round;
}

header ciphertext_t {
    bit<CIPHERTEXT_BITS> words;
}

header tag_t {
    bit<64> high;
    bit<64> low;
}

struct headers_t {
    ethernet_t ethernet;
    request_t request;
    plaintext_t plaintext;
    state_t state;
    ciphertext_t ciphertext;
    tag_t tag;
}

struct metadata_t {
    bit<64> key_high;
    bit<64> key_low;
    bit<64> nonce_high;
    bit<64> nonce_low;
    bit<32> associated;
}

parser AsconParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(standard_metadata.instance_type, hdr.ethernet.ether_type) {
            (INSTANCE_RECIRCULATED, ETHERTYPE_STATE): parse_state;
            (INSTANCE_RECIRCULATED, ETHERTYPE_STATE_AND_CIPHERTEXT): parse_state_and_ciphertext;
            (_, ETHERTYPE_PLAINTEXT): parse_plaintext;
            default: accept;
        }
    }

    state parse_plaintext {
        packet.extract(hdr.request);
        packet.extract(hdr.plaintext);
        transition accept;
    }

    state parse_state {
        packet.extract(hdr.request);
        packet.extract(hdr.plaintext);
        packet.extract(hdr.state);
        transition accept;
    }

    state parse_state_and_ciphertext {
        packet.extract(hdr.request);
        packet.extract(hdr.plaintext);
        packet.extract(hdr.state);
        packet.extract(hdr.ciphertext);
        transition accept;
    }
}

control AsconVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

#define ROTATE_RIGHT(word, bits) ((word)[(bits) - 1:0] ++ (word)[63:(bits)])

// A round of the permutation: a constant, a substitution of 5 bits, and a linear layer for each word.
control Round(inout state_t state) {
    bit<64> t0;
    bit<64> t1;
    bit<64> t2;
    bit<64> t3;
    bit<64> t4;

    action add_constant(bit<8> constant) {
        state.x2 = state.x2 ^ (bit<64>) constant;
        state.round = state.round + 1;
    }

    // A table, since it takes one stage, and computing the constant two.
    @hidden
    table constants {
        key = {
            state.round: exact;
        }
        actions = {
            add_constant;
        }
        const entries = {
            0: add_constant(0xf0);
            1: add_constant(0xe1);
            2: add_constant(0xd2);
            3: add_constant(0xc3);
            4: add_constant(0xb4);
            5: add_constant(0xa5);
            6: add_constant(0x96);
            7: add_constant(0x87);
            8: add_constant(0x78);
            9: add_constant(0x69);
            10: add_constant(0x5a);
            11: add_constant(0x4b);
        }
        const default_action = add_constant(0);
        size = 12;
    }

    action mix_words() {
        state.x0 = state.x0 ^ state.x4;
        state.x4 = state.x4 ^ state.x3;
        state.x2 = state.x2 ^ state.x1;
    }

    action combine_words() {
        t0 = ~state.x1 & state.x2;
        t1 = ~state.x2 & state.x3;
        t2 = ~state.x3 & state.x4;
        t3 = ~state.x4 & state.x0;
        t4 = ~state.x0 & state.x1;
    }

    action substitute() {
        t0 = t0 ^ state.x0;
        t1 = t1 ^ state.x1;
        t2 = t2 ^ state.x2;
        t3 = t3 ^ state.x3;
        t4 = t4 ^ state.x4;
    }

    action mix_substituted() {
        t1 = t1 ^ t0;
        t0 = t0 ^ t4;
        t3 = t3 ^ t2;
        t2 = ~t2;
    }

    action diffuse() {
        state.x0 = t0 ^ ROTATE_RIGHT(t0, 19) ^ ROTATE_RIGHT(t0, 28);
        state.x1 = t1 ^ ROTATE_RIGHT(t1, 61) ^ ROTATE_RIGHT(t1, 39);
        state.x2 = t2 ^ ROTATE_RIGHT(t2, 1) ^ ROTATE_RIGHT(t2, 6);
        state.x3 = t3 ^ ROTATE_RIGHT(t3, 10) ^ ROTATE_RIGHT(t3, 17);
        state.x4 = t4 ^ ROTATE_RIGHT(t4, 7) ^ ROTATE_RIGHT(t4, 41);
    }

    apply {
        constants.apply();
        mix_words();
        combine_words();
        substitute();
        mix_substituted();
        diffuse();
    }
}

// What happens between two permutations.
control BetweenPermutations(inout headers_t hdr, in metadata_t meta) {
    action begin_permutation(bit<4> round) {
        hdr.state.permutation = hdr.state.permutation + 1;
        hdr.state.round = round;
    }

    action absorb_associated() {
        hdr.state.x0 = hdr.state.x0 ^ (meta.associated ++ 32w0x80000000);
        hdr.state.x3 = hdr.state.x3 ^ meta.key_high;
        hdr.state.x4 = hdr.state.x4 ^ meta.key_low;
        begin_permutation(ROUND_SHORT);
    }

    action encrypt_first_word() {
        hdr.state.x0 = hdr.state.x0 ^ WORD(hdr.plaintext.words, PLAINTEXT_BITS, 0);
        hdr.state.x4 = hdr.state.x4 ^ 1;
        hdr.ciphertext.setValid();
        hdr.ciphertext.words = 0;
        WORD(hdr.ciphertext.words, CIPHERTEXT_BITS, 0) = hdr.state.x0;
        hdr.ethernet.ether_type = ETHERTYPE_STATE_AND_CIPHERTEXT;
        begin_permutation(ROUND_SHORT);
    }

#define ENCRYPT_WORD(i)                                                                        \
    action encrypt_word_##i() {                                                                \
        hdr.state.x0 = hdr.state.x0 ^ WORD(hdr.plaintext.words, PLAINTEXT_BITS, i);            \
        WORD(hdr.ciphertext.words, CIPHERTEXT_BITS, i) = hdr.state.x0;                         \
        begin_permutation(ROUND_SHORT);                                                        \
    }
#if PLAINTEXT_WORDS > 1
    ENCRYPT_WORD(1)
#endif
#if PLAINTEXT_WORDS > 2
    ENCRYPT_WORD(2)
#endif
#if PLAINTEXT_WORDS > 3
    ENCRYPT_WORD(3)
#endif

    // The plaintext has whole words, so the last one is padding alone.
    action finalise() {
        hdr.state.x0 = hdr.state.x0 ^ 0x8000000000000000;
        hdr.state.x1 = hdr.state.x1 ^ meta.key_high;
        hdr.state.x2 = hdr.state.x2 ^ meta.key_low;
        begin_permutation(0);
    }

    // The packet leaves with ciphertext and tag.
    action complete() {
        hdr.tag.setValid();
        hdr.tag.high = hdr.state.x3 ^ meta.key_high;
        hdr.tag.low = hdr.state.x4 ^ meta.key_low;
        hdr.state.setInvalid();
        hdr.plaintext.setInvalid();
        hdr.ethernet.ether_type = ETHERTYPE_CIPHERTEXT;
    }

    @hidden
    table steps {
        key = {
            hdr.state.permutation: exact;
        }
        actions = {
            absorb_associated;
            encrypt_first_word;
#if PLAINTEXT_WORDS > 1
            encrypt_word_1;
#endif
#if PLAINTEXT_WORDS > 2
            encrypt_word_2;
#endif
#if PLAINTEXT_WORDS > 3
            encrypt_word_3;
#endif
            finalise;
            complete;
            NoAction;
        }
        const entries = {
            0: absorb_associated();
            PERMUTATION_ASSOCIATED: encrypt_first_word();
#if PLAINTEXT_WORDS > 1
            2: encrypt_word_1();
#endif
#if PLAINTEXT_WORDS > 2
            3: encrypt_word_2();
#endif
#if PLAINTEXT_WORDS > 3
            4: encrypt_word_3();
#endif
            PLAINTEXT_WORDS + 1: finalise();
            PERMUTATION_LAST: complete();
        }
        const default_action = NoAction();
        size = 8;
    }

    apply {
        if (hdr.state.round == ROUND_END) {
            steps.apply();
        }
    }
}

control AsconIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    BetweenPermutations() before_rounds;
    Round() first_round;
#if INGRESS_ROUNDS > 1
    Round() second_round;
#endif
    bit<8> choice;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action use_key(bit<64> key_high, bit<64> key_low, bit<64> nonce_high, bit<64> nonce_low, bit<32> associated) {
        meta.key_high = key_high;
        meta.key_low = key_low;
        meta.nonce_high = nonce_high;
        meta.nonce_low = nonce_low;
        meta.associated = associated;
    }

    table keys {
        key = {
            hdr.ethernet.dst_addr: exact;
        }
        actions = {
            use_key;
            drop;
        }
        default_action = drop();
        size = 16;
    }

    action send(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    table outputs {
        key = {
            hdr.ethernet.dst_addr: exact;
        }
        actions = {
            send;
            drop;
        }
        default_action = drop();
        size = 16;
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

    action initialise() {
        hdr.ethernet.ether_type = ETHERTYPE_STATE;
        hdr.state.setValid();
        hdr.state.x0 = INITIAL_VALUE;
        hdr.state.x1 = meta.key_high;
        hdr.state.x2 = meta.key_low;
        hdr.state.x3 = meta.nonce_high;
        hdr.state.x4 = meta.nonce_low;
        hdr.state.permutation = 0;
        hdr.state.round = 0;
    }

    apply {
        if (!hdr.plaintext.isValid() || hdr.request.length_ != 8 * PLAINTEXT_WORDS) {
            drop();
            return;
        }
        if (keys.apply().miss) {
            return;
        }
        if (hdr.state.isValid()) {
            before_rounds.apply(hdr, meta);
        } else {
            initialise();
        }
        if (hdr.state.isValid()) {
            first_round.apply(hdr.state);
#if INGRESS_ROUNDS > 1
            second_round.apply(hdr.state);
#endif
        }
        // Egress completes a packet whose last round was here.
        if (!hdr.state.isValid() ||
            (EGRESS_ROUNDS > 0 && hdr.state.permutation == PERMUTATION_LAST && hdr.state.round == ROUND_END)) {
            outputs.apply();
        } else {
            choice = 0;
#if PORT_BITS > 0
            random(choice, 0, (1 << PORT_BITS) - 1);
#endif
            recirculation_ports.apply();
        }
    }
}

control AsconEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
#if EGRESS_ROUNDS > 0
    BetweenPermutations() between_rounds;
    Round() third_round;
#if EGRESS_ROUNDS > 1
    Round() fourth_round;
#endif
#endif

    apply {
#if EGRESS_ROUNDS > 0
        if (hdr.state.isValid()) {
            between_rounds.apply(hdr, meta);
        }
        if (hdr.state.isValid()) {
            third_round.apply(hdr.state);
#if EGRESS_ROUNDS > 1
            fourth_round.apply(hdr.state);
#endif
        }
#endif
        if (hdr.state.isValid()) {
            recirculate_preserving_field_list(0);
        }
    }
}

control AsconComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control AsconDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.request);
        packet.emit(hdr.plaintext);
        packet.emit(hdr.state);
        packet.emit(hdr.ciphertext);
        packet.emit(hdr.tag);
    }
}

V1Switch(AsconParser(), AsconVerifyChecksum(), AsconIngress(), AsconEgress(), AsconComputeChecksum(), AsconDeparser()) main;
