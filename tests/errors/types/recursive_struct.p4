struct s_t { s_t inner; }
