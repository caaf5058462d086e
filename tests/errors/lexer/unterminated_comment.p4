const bit<8> A = 1;
/* this goes on and on
