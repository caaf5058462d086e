// The number of a field list may be any constant expression; a recirculated packet keeps the fields of each.

#include <v1model.p4>

enum bit<8> Kept {
    Other = 2,
    All = 1
}

const bit<8> KEPT = 1;
const int KEPT_INT = 2 - 1;
typedef bit<8> number_t;
const number_t KEPT_TYPED = 1;
#define KEPT_MACRO 1
#define KEPT_CALL(n) ((n) * KEPT)

struct group_t {
    bit<8> inside;
}

struct meta_t {
    @field_list(1)
    bit<8> literal;
    @field_list(KEPT)
    bit<8> constant;
    @field_list(KEPT_INT)
    bit<8> integer;
    @field_list(KEPT_TYPED)
    bit<8> typed;
    @field_list(Kept.All)
    bit<8> member;
    @field_list(230 + 1 - 230)
    bit<8> sum;
    @field_list(KEPT_MACRO)
    bit<8> by_macro;
    @field_list(KEPT_CALL(1))
    bit<8> by_call;
    @field_list((bit<8>) Kept.Other, KEPT)
    bit<8> second;
    @field_list[KEPT_INT]
    bit<8> bracketed;
    @field_list(2) @field_list(KEPT)
    bit<8> twice;
    @field_list(KEPT)
    group_t group;
    @field_list(Kept.Other)
    bit<8> other;
    bit<8> lost;
}

header input_t {
    bit<8> literal;
    bit<8> constant;
    bit<8> integer;
    bit<8> typed;
    bit<8> member;
    bit<8> sum;
    bit<8> by_macro;
    bit<8> by_call;
    bit<8> second;
    bit<8> bracketed;
    bit<8> twice;
    bit<8> group;
    bit<8> other;
    bit<8> lost;
}

struct headers_t {
    input_t input;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
        if (standard_metadata.instance_type == 0) {
            meta.literal = 0x01;
            meta.constant = 0x02;
            meta.integer = 0x03;
            meta.typed = 0x04;
            meta.member = 0x05;
            meta.sum = 0x06;
            meta.by_macro = 0x07;
            meta.by_call = 0x08;
            meta.second = 0x09;
            meta.bracketed = 0x0a;
            meta.twice = 0x0b;
            meta.group.inside = 0x0c;
            meta.other = 0x0d;
            meta.lost = 0x0e;
        } else {
            hdr.input.literal = meta.literal;
            hdr.input.constant = meta.constant;
            hdr.input.integer = meta.integer;
            hdr.input.typed = meta.typed;
            hdr.input.member = meta.member;
            hdr.input.sum = meta.sum;
            hdr.input.by_macro = meta.by_macro;
            hdr.input.by_call = meta.by_call;
            hdr.input.second = meta.second;
            hdr.input.bracketed = meta.bracketed;
            hdr.input.twice = meta.twice;
            hdr.input.group = meta.group.inside;
            hdr.input.other = meta.other;
            hdr.input.lost = meta.lost;
        }
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.input.literal == 0) {
            recirculate_preserving_field_list(KEPT_CALL(KEPT_TYPED));
        }
    }
}

#include "../include/skeleton.p4"
