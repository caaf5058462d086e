extern E { E(bit<8> size); }
E(1, 2) e;
