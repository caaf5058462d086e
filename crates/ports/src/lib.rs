//! All the system calls: AF_PACKET, TAP, pcap files, memory.
