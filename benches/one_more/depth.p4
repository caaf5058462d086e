// Routing that tells how many packets were in the queue.

#define DEPTH
#include "include/router.p4"
