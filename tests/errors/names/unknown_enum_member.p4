enum Color { red, green }
control C(out Color c) {
    apply { c = Color.blue; }
}
