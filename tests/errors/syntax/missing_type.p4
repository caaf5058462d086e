header h_t {
    a;
}
