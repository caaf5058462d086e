struct s_t {
    uint32_t address;
}
