struct pair_t<A, B> { A a; B b; }
control C(in pair_t<bit<8>> p) {
    apply { }
}
