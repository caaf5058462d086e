// Ethernet forwarding whose tables count directly.

#define COUNTERS
#include "include/bridge.p4"
