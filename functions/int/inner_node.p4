// int.p4 without the sink, for nodes that no packet leaves the INT domain by: it does not take the metadata of other hops out of the
// packet, which makes it several times as fast. The ports of TCP, which are behind these metadata, are not seen in packets with INT.

#define NO_SINK
#include "int.p4"
