// P4 has `for`.
control c(inout bit<8> x) {
    apply {
        while (x < 3) {
            x = x + 1;
        }
    }
}
