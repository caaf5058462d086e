// Routing that writes a register in egress.

#define EGRESS_REGISTER
#include "include/router.p4"
