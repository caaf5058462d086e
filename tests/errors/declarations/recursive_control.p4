control C() {
    C() inner;
    apply { inner.apply(); }
}
