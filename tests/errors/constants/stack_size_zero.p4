header h_t { bit<8> x; }
struct s_t { h_t[0] h; }
