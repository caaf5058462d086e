void f(in bit<8> a) { return a; }
