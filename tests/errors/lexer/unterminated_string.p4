@name("a) const bit<8> A = 1;
