struct S = {
    bit<8> a = 5;
    bit<8> b;
}
control C(inout S s) = {
    action set() = {
        s.a = 1;
    }
    apply {
        set();
    }
}
