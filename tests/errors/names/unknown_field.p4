header ipv4_t { bit<8> ttl; bit<8> protocol; }
control C(inout ipv4_t ip) {
    apply { ip.tll = 1; }
}
