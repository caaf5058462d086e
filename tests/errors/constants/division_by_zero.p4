const int A = 1 / 0;
