control C(inout bool a) {
    apply { a = a + true; }
}
