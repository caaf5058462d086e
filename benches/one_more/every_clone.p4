// Routing that clones every packet.

#define EVERY_CLONE
#include "include/router.p4"
