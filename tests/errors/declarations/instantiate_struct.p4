struct s_t { bit<8> a; }
s_t() s;
