header_type numbers_t {
    fields {
        number : 8;
    }
}

header numbers_t numbers;

parser start {
    extract(numbers);
    return ingress;
}

control ingress {
}
