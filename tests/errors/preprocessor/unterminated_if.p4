#define X 1
#if X
const bit<8> A = 1;
