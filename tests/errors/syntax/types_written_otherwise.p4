typedef port_t = bit<9>;
enum Color { RED = 1, GREEN = 2 }
control C(inout bit<9> x) {
    apply {
        port_t port = x;
        Color color = Color.RED;
        if (color == Color.GREEN) { x = port; }
    }
}
