const bit<8> größe = 1;
