typedef port_t bit<9>;
control C(inout port_t x) { apply { x = 1; } }
