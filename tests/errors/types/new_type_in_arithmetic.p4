type bit<9> PortId_t;
control C(in PortId_t port, out bit<9> next) {
    apply { next = port + 1; }
}
