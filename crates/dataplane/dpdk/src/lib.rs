//! Ports over poll-mode drivers of DPDK: a network card that DPDK has taken, or one of its virtual devices.
//!
//! ```text
//!   Port ── shim.c ──► rte_eth_rx_burst ──► device      receive, send: one copy of each frame
//!                ◄──── rte_eth_tx_burst ◄──             no system call; nothing waits
//! ```
//!
//! DPDK is a library with one environment for the whole process, which the first port starts
//! ([`VARIABLE`] has arguments for it). Frames are copied out of its buffers and into them, as packets of a switch live
//! in memory of their own.
//!
//! Without the feature `linked` there is no DPDK in the program, and [`open`] says so.

#![deny(unsafe_code)]

mod options;

#[cfg(feature = "linked")]
mod linked;

pub use options::DpdkOptions;

use forebay_packet::Port;
use std::fmt;

/// The variable of the environment with arguments for DPDK's EAL, with blanks between them: `-m 512 --no-huge`.
pub const VARIABLE: &str = "FOREBAY_DPDK_EAL";

/// Why a port over DPDK cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DpdkError {
    /// This program has no DPDK.
    NotLinked,
    /// DPDK does not start.
    Environment {
        /// The arguments that it was given.
        arguments: String,
        /// What it said.
        cause: String,
    },
    /// The device cannot be used.
    Device {
        /// The device as DPDK calls it, with its arguments.
        device: String,
        /// What was tried, and what DPDK said.
        cause: String,
    },
}

impl fmt::Display for DpdkError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DpdkError::NotLinked => formatter.write_str(
                "this program was built without DPDK; build one with it: \
                 cargo build --release -p forebay-cli --features dpdk (Debian: apt install libdpdk-dev)",
            ),
            DpdkError::Environment { arguments, cause } => write!(
                formatter,
                "DPDK does not start with the arguments `{arguments}`: {cause}; its own messages stand above, and {VARIABLE} adds arguments"
            ),
            DpdkError::Device { device, cause } => write!(
                formatter,
                "DPDK cannot use `{device}`: {cause}; a device is a virtual one (net_tap0, net_memif0, net_af_xdp0, …) or the PCI address \
                 of a card that is bound to a driver for DPDK (dpdk-devbind.py --status)"
            ),
        }
    }
}

impl std::error::Error for DpdkError {}

/// Opens a device for at most `workers` workers: one port for each, as far as the device has queues.
///
/// # Errors
/// When this program has no DPDK, DPDK does not start, or it has no such device.
#[cfg(feature = "linked")]
pub fn open(options: &DpdkOptions, workers: usize) -> Result<Vec<Box<dyn Port>>, DpdkError> {
    linked::open(options, workers)
}

/// Refuses: this program has no DPDK.
///
/// # Errors
/// Always.
#[cfg(not(feature = "linked"))]
pub fn open(_options: &DpdkOptions, _workers: usize) -> Result<Vec<Box<dyn Port>>, DpdkError> {
    Err(DpdkError::NotLinked)
}
