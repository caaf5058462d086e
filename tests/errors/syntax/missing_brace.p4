struct s_t {
    bit<8> a;
    bit<8> b;

header h_t {
    bit<8> a;
}
