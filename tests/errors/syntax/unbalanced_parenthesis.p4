const bit<8> A = (1 + 2;
const bit<8> B = 3;
