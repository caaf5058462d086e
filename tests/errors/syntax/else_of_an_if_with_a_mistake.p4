control C(inout bit<8> x, inout bit<8> y) {
    apply {
        if (x = 1) {
            y = 1;
        } else {
            y == 2;
        }
        if (x == ) {
            y = 3;
        } else if (x == 2) {
            y = 4;
        } else {
            y = 5;
        }
        if (x == 3)
            y == 6;
        else
            y = 7;
        y = ;
    }
}
