#include <core.p4>
#include <v1model.p4>
bit<8> f0(in bit<8> x) { return x + 1; }
bit<8> f1(in bit<8> x) { return f0(x) ^ f0(x + 1); }
bit<8> f2(in bit<8> x) { return f1(x) ^ f1(x + 1); }
bit<8> f3(in bit<8> x) { return f2(x) ^ f2(x + 1); }
bit<8> f4(in bit<8> x) { return f3(x) ^ f3(x + 1); }
bit<8> f5(in bit<8> x) { return f4(x) ^ f4(x + 1); }
bit<8> f6(in bit<8> x) { return f5(x) ^ f5(x + 1); }
bit<8> f7(in bit<8> x) { return f6(x) ^ f6(x + 1); }
bit<8> f8(in bit<8> x) { return f7(x) ^ f7(x + 1); }
bit<8> f9(in bit<8> x) { return f8(x) ^ f8(x + 1); }
bit<8> f10(in bit<8> x) { return f9(x) ^ f9(x + 1); }
bit<8> f11(in bit<8> x) { return f10(x) ^ f10(x + 1); }
bit<8> f12(in bit<8> x) { return f11(x) ^ f11(x + 1); }
bit<8> f13(in bit<8> x) { return f12(x) ^ f12(x + 1); }
bit<8> f14(in bit<8> x) { return f13(x) ^ f13(x + 1); }
bit<8> f15(in bit<8> x) { return f14(x) ^ f14(x + 1); }
bit<8> f16(in bit<8> x) { return f15(x) ^ f15(x + 1); }
bit<8> f17(in bit<8> x) { return f16(x) ^ f16(x + 1); }
bit<8> f18(in bit<8> x) { return f17(x) ^ f17(x + 1); }
bit<8> f19(in bit<8> x) { return f18(x) ^ f18(x + 1); }
bit<8> f20(in bit<8> x) { return f19(x) ^ f19(x + 1); }
bit<8> f21(in bit<8> x) { return f20(x) ^ f20(x + 1); }
bit<8> f22(in bit<8> x) { return f21(x) ^ f21(x + 1); }
bit<8> f23(in bit<8> x) { return f22(x) ^ f22(x + 1); }
bit<8> f24(in bit<8> x) { return f23(x) ^ f23(x + 1); }
bit<8> f25(in bit<8> x) { return f24(x) ^ f24(x + 1); }
bit<8> f26(in bit<8> x) { return f25(x) ^ f25(x + 1); }
bit<8> f27(in bit<8> x) { return f26(x) ^ f26(x + 1); }
bit<8> f28(in bit<8> x) { return f27(x) ^ f27(x + 1); }
bit<8> f29(in bit<8> x) { return f28(x) ^ f28(x + 1); }
header h_t { bit<8> a; }
struct headers_t { h_t h; h_t[4] s; }
struct metadata_t { bit<8> x; bit<32> y; }
parser P(packet_in p, out headers_t h, inout metadata_t m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout headers_t h, inout metadata_t m) { apply { } }
control I(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) {
    apply { m.x = f29(m.x); }
}
control E(inout headers_t h, inout metadata_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
