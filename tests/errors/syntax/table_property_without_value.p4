control C() {
    table t { key = ; actions = { } }
    apply { }
}
