control C() {
    int x = 5;
    apply { }
}
