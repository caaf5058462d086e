extern void f(in bit<8> a, out bit<8> b = 1);
