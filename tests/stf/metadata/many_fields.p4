// More slots than have registers: 300 fields, each written before and behind a look-up, and all of them read.

#include <v1model.p4>

header value_t {
    bit<16> value;
    bit<16> sum;
}

struct ten_t {
    bit<16> f0; bit<16> f1; bit<16> f2; bit<16> f3; bit<16> f4;
    bit<16> f5; bit<16> f6; bit<16> f7; bit<16> f8; bit<16> f9;
}

struct hundred_t {
    ten_t t0; ten_t t1; ten_t t2; ten_t t3; ten_t t4;
    ten_t t5; ten_t t6; ten_t t7; ten_t t8; ten_t t9;
}

struct headers_t {
    value_t input;
}

struct meta_t {
    hundred_t a;
    hundred_t b;
    hundred_t c;
}

void add_ten(inout ten_t t, in bit<16> x) {
    t.f0 = t.f0 + x;
    t.f1 = t.f1 + t.f0;
    t.f2 = t.f2 + t.f1;
    t.f3 = t.f3 + t.f2;
    t.f4 = t.f4 + t.f3;
    t.f5 = t.f5 + t.f4;
    t.f6 = t.f6 + t.f5;
    t.f7 = t.f7 + t.f6;
    t.f8 = t.f8 + t.f7;
    t.f9 = t.f9 + t.f8;
}

void add(inout hundred_t h, in bit<16> x) {
    add_ten(h.t0, x + 0);
    add_ten(h.t1, x + 1);
    add_ten(h.t2, x + 2);
    add_ten(h.t3, x + 3);
    add_ten(h.t4, x + 4);
    add_ten(h.t5, x + 5);
    add_ten(h.t6, x + 6);
    add_ten(h.t7, x + 7);
    add_ten(h.t8, x + 8);
    add_ten(h.t9, x + 9);
}

bit<16> sum_ten(in ten_t t) {
    return t.f0 + t.f1 + t.f2 + t.f3 + t.f4 + t.f5 + t.f6 + t.f7 + t.f8 + t.f9;
}

bit<16> sum(in hundred_t h) {
    return sum_ten(h.t0) + sum_ten(h.t1) + sum_ten(h.t2) + sum_ten(h.t3) + sum_ten(h.t4)
        + sum_ten(h.t5) + sum_ten(h.t6) + sum_ten(h.t7) + sum_ten(h.t8) + sum_ten(h.t9);
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action forward(bit<9> port, bit<16> x) {
        standard_metadata.egress_spec = port;
        hdr.input.value = hdr.input.value + x;
    }

    table values {
        key = { meta.c.t9.f9: exact; }
        actions = { forward; }
        default_action = forward(1, 0);
    }

    apply {
        add(meta.a, hdr.input.value);
        add(meta.b, hdr.input.value + 100);
        add(meta.c, hdr.input.value + 200);
        values.apply();
        add(meta.c, hdr.input.value);
        add(meta.b, hdr.input.value + 100);
        add(meta.a, hdr.input.value + 200);
        hdr.input.sum = sum(meta.a) + sum(meta.b) + sum(meta.c);
    }
}

#include "../include/skeleton.p4"
