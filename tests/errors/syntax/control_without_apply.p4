control C() {
    action a() { }
}
