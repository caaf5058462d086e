extern void f(in bit<8> a);
extern void f(in bit<8> a, in bit<8> b);
control C() {
    apply { f(1, 2, 3); }
}
