// Routing that chooses a queue by the type of service.

#define PRIORITY
#include "include/router.p4"
