const bit<8> A = 1;
const bit<16> A = 2;
