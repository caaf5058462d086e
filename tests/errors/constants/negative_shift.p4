const bit<8> A = 8w1 << -1;
