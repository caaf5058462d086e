#include "no_such_file.p4"
const bit<8> A = 1;
