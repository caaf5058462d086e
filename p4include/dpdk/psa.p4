/* The Portable Switch Architecture as p4c's DPDK back end has it: counters and meters may be told the packet's length. */

#ifndef __DPDK_PSA_P4__
#define __DPDK_PSA_P4__

#define PSA_WITH_PACKET_LENGTHS
#include <psa.p4>

#endif
