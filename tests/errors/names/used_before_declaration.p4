control C(out bit<8> x) {
    apply { x = LATER; }
}
const bit<8> LATER = 1;
