//! Ports on the real kernel: packet sockets on veth pairs, and TAP devices. Needs root; without
//! it every test says that it is skipped.

mod namespace;
mod packet_socket;
mod tap;
