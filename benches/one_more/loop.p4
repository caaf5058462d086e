// Routing with a loop of four rounds.

#define LOOP
#include "include/router.p4"
