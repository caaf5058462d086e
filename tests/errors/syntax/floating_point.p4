// Numbers are integers.
const int half = 1.5;
