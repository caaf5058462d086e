const bit<(-1)> A = 0;
