// Every operator, over fields of several widths and over signed numbers.
#include <core.p4>
#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    int<8> c;
    int<8> d;
    bit<16> w;
}

header output_t {
    bit<8> sum;
    bit<8> difference;
    bit<16> product;
    bit<8> quotient;
    bit<8> rest;
    bit<8> conjunction;
    bit<8> disjunction;
    bit<8> exclusive;
    bit<8> inverse;
    bit<8> left;
    bit<8> right;
    int<8> arithmetic_right;
    bit<8> saturated_sum;
    bit<8> saturated_difference;
    int<8> signed_sum;
    int<8> signed_difference;
    int<16> extended;
    bit<8> slice;
    bit<16> concatenated;
    int<8> negative;
    bit<8> choice;
    bit<1> less;
    bit<1> less_signed;
    bit<1> equal;
    bit<1> not_equal;
    bit<1> both;
    bit<1> either;
    bit<1> greater;
    bit<1> at_most;
    bit<16> moving;
    bit<16> part;
}

struct headers_t {
    input_t input;
    output_t output;
}

struct metadata_t {
}

parser ExpressionsParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        transition accept;
    }
}

control Nothing(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control ExpressionsIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.output.setValid();
        hdr.output.sum = hdr.input.a + hdr.input.b;
        hdr.output.difference = hdr.input.a - hdr.input.b;
        hdr.output.product = (bit<16>)hdr.input.a * (bit<16>)hdr.input.b;
        hdr.output.quotient = hdr.input.a / hdr.input.b;
        hdr.output.rest = hdr.input.a % hdr.input.b;
        hdr.output.conjunction = hdr.input.a & hdr.input.b;
        hdr.output.disjunction = hdr.input.a | hdr.input.b;
        hdr.output.exclusive = hdr.input.a ^ hdr.input.b;
        hdr.output.inverse = ~hdr.input.a;
        hdr.output.left = hdr.input.a << 3;
        hdr.output.right = hdr.input.a >> 3;
        hdr.output.arithmetic_right = hdr.input.c >> 3;
        hdr.output.saturated_sum = hdr.input.a |+| hdr.input.b;
        hdr.output.saturated_difference = hdr.input.a |-| hdr.input.b;
        hdr.output.signed_sum = hdr.input.c |+| hdr.input.d;
        hdr.output.signed_difference = hdr.input.c |-| hdr.input.d;
        hdr.output.extended = (int<16>)hdr.input.c;
        hdr.output.slice = hdr.input.w[11:4];
        hdr.output.concatenated = hdr.input.a ++ hdr.input.b;
        hdr.output.negative = -hdr.input.c;
        hdr.output.choice = hdr.input.a > hdr.input.b ? hdr.input.a : hdr.input.b;
        hdr.output.less = (bit<1>)(hdr.input.a < hdr.input.b);
        hdr.output.less_signed = (bit<1>)(hdr.input.c < hdr.input.d);
        hdr.output.equal = (bit<1>)(hdr.input.a == hdr.input.b);
        hdr.output.not_equal = (bit<1>)(hdr.input.c != hdr.input.d);
        hdr.output.both = (bit<1>)(hdr.input.a > 16 && hdr.input.b > 16);
        hdr.output.either = (bit<1>)(hdr.input.a > 16 || !(hdr.input.b > 16));
        hdr.output.greater = (bit<1>)(hdr.input.c > hdr.input.d);
        hdr.output.at_most = (bit<1>)(hdr.input.c <= hdr.input.d);
        hdr.output.moving = hdr.input.w << hdr.input.a;
        hdr.output.part = hdr.input.w;
        hdr.output.part[11:4] = hdr.input.a;
        hdr.input.setInvalid();
        standard_metadata.egress_spec = 2;
    }
}

control ExpressionsEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
    }
}

control ExpressionsDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(ExpressionsParser(), Nothing(), ExpressionsIngress(), ExpressionsEgress(), Nothing(), ExpressionsDeparser()) main;
