const bit<8> A = ;
header h_t { bit<8> a }
struct s_t { bit<8 b; }
const bit<8> C = 3;
