// Routing that adds a header with the length that egress reads.

#define LENGTH
#include "include/router.p4"
