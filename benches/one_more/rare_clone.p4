// Routing that clones packets with a certain identification.

#define RARE_CLONE
#include "include/router.p4"
