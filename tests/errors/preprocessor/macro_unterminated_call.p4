#define ADD(a, b) ((a) + (b))
const bit<8> A = ADD(1, 2;
