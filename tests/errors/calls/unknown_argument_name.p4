bit<8> f(in bit<8> value) { return value; }
control C(out bit<8> x) {
    apply { x = f(valeu = 1); }
}
