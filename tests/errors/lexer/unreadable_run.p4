#define CURRENCY 1 + € + 2
const int A = CURRENCY + CURRENCY;
const int B = 1 €€$ 2;
const int C = 3 $;
