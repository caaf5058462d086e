// Copies are put together in place however many headers may be valid, also after ingress has written a register.

#include "../stf/traffic/multicast_many_headers.p4"
