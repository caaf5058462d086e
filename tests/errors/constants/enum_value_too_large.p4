enum bit<2> E { a = 1, b = 7 }
