bit<8> a = 1;
if (true) { }
