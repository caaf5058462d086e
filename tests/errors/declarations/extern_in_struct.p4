extern E { E(); }
struct s_t { E e; }
