control C(inout bit<8> x, inout bit<8> y) {
    apply {
        if (x = 1 && y == 2) {
            y = 1;
        } else {
            y = 2;
        }
        if (y == 1 || x = 2) {
            y = z;
        }
    }
}
