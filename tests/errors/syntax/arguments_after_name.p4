extern E { E(bit<8> size); }
control C() {
    E e(8);
    apply { }
}
