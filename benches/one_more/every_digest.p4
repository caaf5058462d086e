// Routing that tells the control plane of every packet.

#define EVERY_DIGEST
#include "include/router.p4"
