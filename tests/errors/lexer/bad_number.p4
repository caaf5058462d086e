const bit<8> A = 0x;
