const int A = 1 << 1000000000;
