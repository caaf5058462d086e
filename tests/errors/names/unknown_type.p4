control C(inout ethernet_t e) {
    apply { }
}
