struct transition {
    bit<8> header;
}
