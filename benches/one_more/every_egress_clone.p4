// Routing that clones every packet from egress.

#define EVERY_EGRESS_CLONE
#include "include/router.p4"
