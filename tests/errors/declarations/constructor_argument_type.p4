extern E { E(bit<8> size); }
E(true) e;
