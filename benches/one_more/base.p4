// Routing, with nothing more.

#include "include/router.p4"
