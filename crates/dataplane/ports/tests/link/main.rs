//! Ports whose other end is a process with which they share memory: between two ports of this process, and with DPDK's
//! drivers where DPDK is installed.

#[cfg(feature = "dpdk")]
mod devices;
mod dpdk;
mod frames;
mod memif;
