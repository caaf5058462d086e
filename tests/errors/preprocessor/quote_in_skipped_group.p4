#if 0
This isn't read, "quotation marks included.
#endif
const bit<8> A = "text";
