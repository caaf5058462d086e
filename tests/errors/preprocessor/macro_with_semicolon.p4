#define SIZE 16;
control C(inout bit<SIZE> x) { apply { x = 1; } }
