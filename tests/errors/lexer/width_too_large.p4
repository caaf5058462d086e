const bit<8> A = 99999999999w1;
