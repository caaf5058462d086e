@name("x"
const bit<8> A = 1;
