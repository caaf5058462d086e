struct s_t { bit<8> x; }
header_union u_t { s_t s; }
