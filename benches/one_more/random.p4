// Routing that draws a random number.

#define RANDOM
#include "include/router.p4"
