// Errors as numbers, so that a packet can show them: the core library's in the order of its declaration, 255 for
// others.
bit<8> error_code(in error e) {
    if (e == error.NoError) {
        return 0;
    } else if (e == error.PacketTooShort) {
        return 1;
    } else if (e == error.NoMatch) {
        return 2;
    } else if (e == error.StackOutOfBounds) {
        return 3;
    } else if (e == error.HeaderTooShort) {
        return 4;
    } else if (e == error.ParserTimeout) {
        return 5;
    } else if (e == error.ParserInvalidArgument) {
        return 6;
    }
    return 255;
}
