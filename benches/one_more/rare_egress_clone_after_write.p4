// Routing that writes a register in egress, and then clones packets with a certain identification.

#define EGRESS_REGISTER
#define RARE_EGRESS_CLONE
#include "include/router.p4"
