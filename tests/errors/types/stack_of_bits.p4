struct s_t { bit<8>[4] x; }
control C(inout s_t s) { apply { s.x.push_front(1); } }
