extern void f(in bit<8> a);
extern void f(in bit<16> a);
control C() {
    apply { f(1); }
}
