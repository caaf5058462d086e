control C(in bool x, out bool y) {
    apply { y = x || "x"; }
}
