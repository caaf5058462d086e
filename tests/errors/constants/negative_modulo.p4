const int A = -5 % 3;
