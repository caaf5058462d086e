extern void f(in bit<8> a = 1, in bit<8> b);
