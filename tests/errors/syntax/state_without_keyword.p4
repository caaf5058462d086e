parser P(in bit<8> x) {
    state start { transition next; }
    next { transition accept; }
}
