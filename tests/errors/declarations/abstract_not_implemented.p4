extern E { E(); abstract bit<8> f(in bit<8> x); }
control C() {
    E() e;
    apply { }
}
