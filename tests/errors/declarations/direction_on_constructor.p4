control C()(in bit<8> size) {
    apply { }
}
