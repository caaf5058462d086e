// Ethernet forwarding.

#include "include/bridge.p4"
