control C(in port_t port) {
    apply { }
}
typedef bit<9> port_t;
