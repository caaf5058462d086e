control C(inout bit<8> counter_value) {
    apply { counter_valeu = 1; }
}
