const TYPE_IPV4 = 0x0800;
control C(inout bit<16> x) { apply { if (x == TYPE_IPV4) { x = TYPE_IPV4; } } }
