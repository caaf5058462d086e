extern Box { bit<8> get(); }
extern Box make_box(bit<8> size);
control Inner(out bit<8> y)(Box box) { apply { y = box.get(); } }
control C(in bit<8> x, out bit<8> y) {
    Inner(make_box(x)) inner;
    apply { inner.apply(y); }
}
