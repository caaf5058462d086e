header h_t { bit<8> table; bit<8> b; }
control C(inout h_t h) { apply { h.table = 1; h.b = h.table; } }
