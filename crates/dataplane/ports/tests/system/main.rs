//! Ports on the real kernel: AF_XDP and packet sockets on veth pairs, and TAP devices. Needs root; without
//! it every test says that it is skipped.

mod beside;
mod interfaces;
mod many;
mod namespace;
mod network;
mod returning;
mod tap;
mod traffic;
mod xdp;
