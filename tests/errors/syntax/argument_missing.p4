// Nothing stands between two commas.
control c(in bit<8> x, in bit<8> y, out bit<8> z) { apply { z = x + y; } }
control d(out bit<8> z) {
    c() inner;
    apply {
        inner.apply(1, , z);
    }
}
