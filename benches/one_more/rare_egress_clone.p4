// Routing that clones packets with a certain identification from egress.

#define RARE_EGRESS_CLONE
#include "include/router.p4"
