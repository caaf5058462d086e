const int MASK = 0x1234;
const bit<8> HIGH = MASK[15:8];
const bit<4> BELOW = MASK[3:-1];
const bit<4> REVERSED = MASK[0:3];
const bit<2048> TOO_FAR = MASK[2048:1];
