enum bit<8> Kind { None = 0, Empty = 0, Full = 1 }
control C(in Kind kind, out bit<8> y) {
    apply {
        switch (kind) {
            Kind.None: { y = 0; }
            Kind.Full: { y = 1; }
            Kind.Empty: { y = 2; }
            default: { y = 3; }
        }
    }
}
