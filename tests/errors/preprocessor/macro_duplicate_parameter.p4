#define ADD(a, a) ((a) + (a))
const bit<8> A = ADD(1, 2);
