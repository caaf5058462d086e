control C(in bit<8> protocol, in bit<8> ttl, out bool y) {
    apply {
        y = protocol == 6 & ttl == 1;
    }
}
