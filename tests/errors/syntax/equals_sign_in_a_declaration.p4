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
bit<8> one() = {
    return 1;
}
parser P(in bit<8> x) = {
    state start = {
        transition accept;
    }
}
