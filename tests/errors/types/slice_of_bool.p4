control C(in bool a, out bit<1> b) {
    apply { b = a[0:0]; }
}
