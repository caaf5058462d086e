//! Packet buffers, pcap files, and the Port trait with its decorators.
