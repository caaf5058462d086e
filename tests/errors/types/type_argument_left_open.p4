extern Register<T, I> {
    Register(bit<32> size);
    T read(in I index);
}
control C(inout bit<16> x) {
    Register<bit<16>, _>(1024) counts;
    apply { x = counts.read(x); }
}
