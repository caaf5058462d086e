enum bit<8> E { a = 1, b }
