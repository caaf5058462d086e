// Routing that tells the control plane of packets with a certain identification.

#define RARE_DIGEST
#include "include/router.p4"
