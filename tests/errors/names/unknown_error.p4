control C(out error e) {
    apply { e = error.TooShort; }
}
