header h_t { bit<100000000> x; }
