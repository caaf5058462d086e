//! All the system calls of a switch's ports: AF_XDP and packet sockets, TAP devices, capture files, waiting,
//! and the clock.
//!
//! ```text
//!   0@veth0 ─ parse ─► PortSpec ─ open ─► Port ◄─ receive, send ─ worker ─► Poller: sleeps until a port has something
//!                                          │                                  │
//!                                          └─────────► system (system calls) ◄┘
//! ```
//!
//! The way in is two steps: [`PortSpec::parse`] reads what a user wrote (`0@veth0`,
//! `3@pcap:in.pcap,out.pcap`) without touching the system, and [`open()`] opens it. Both fail with
//! messages that say what is wrong, why, and what to do. What comes back is a
//! [`Port`](forebay_packet::Port), which knows nothing of its kind.
//!
//! | kind | what it is | module |
//! |---|---|---|
//! | `xdp:NAME` | an existing interface, through AF_XDP sockets | [`XdpPort`] |
//! | `packet:NAME` | an existing interface, through an AF_PACKET socket | [`PacketPort`] |
//! | `tap:NAME` | a new virtual interface; the kernel's stack is at the other end | [`TapPort`] |
//! | `memif:PATH` | memory shared with another process: another switch, VPP, DPDK | [`MemifOptions`] |
//! | `vhost:PATH` | the network card of a virtual machine, or of DPDK's virtio_user | [`VhostOptions`] |
//! | `dpdk:DEVICE` | a network card or virtual device by DPDK | [`forebay_dpdk`] |
//! | `pcap:IN,OUT` | capture files | [`PcapPort`] |
//! | `mem:` | a queue in this process | [`forebay_packet::MemoryPort`] |
//! | `loopback:` | what is sent comes back in | [`forebay_packet::MemoryPort::loopback`] |
//!
//! A name alone is an existing interface, opened the fastest way that it supports; [`Means`] says which and why. An
//! interface that is deleted and made again comes back by itself. [`Poller`] waits for several ports at once, [`Clock`]
//! tells the time. [`confine()`] gives up rights that are not needed once all is open.
//!
//! # Invariants
//! Unsafe code is in `system`, `terminal` and `thread` only, each block with the reason why it is sound. An interface
//! that vanishes is a state that is reported, never a panic.

#![deny(unsafe_code)]

mod choose;
mod clock;
mod confine;
mod error;
mod interfaces;
mod interval;
mod link;
mod memif;
mod offload;
mod open;
mod packet_socket;
mod pcap_file;
mod poll;
mod returning;
mod socket_file;
mod spec;
mod system;
mod tap;
mod terminal;
mod thread;
mod vhost;
mod xdp;

pub use choose::{Means, PresentMeans};
pub use clock::Clock;
pub use confine::{ConfineError, confine, take_capabilities, user_ids};
pub use error::OpenError;
pub use interfaces::{Link, bring_up, find_interface, interface_names, link, primary_name};
pub use memif::{MemifOptions, MemifRole};
pub use open::{MEMORY_QUEUE_PACKETS, OpenOptions, OpenedPort, close_all, open, open_all, open_beside, open_shares};
pub use packet_socket::PacketPort;
pub use pcap_file::{Merge, Pace, PcapPort};
pub use poll::Poller;
pub use socket_file::SocketFile;
pub use spec::{PortKind, PortSpec, SpecError};
pub use system::limits::raise_open_files;
pub use tap::TapPort;
pub use terminal::{Keys, is_foreground};
pub use thread::{
    TimeSlice, allowed_processors, pin_to_processor, run_beside_workers, set_time_slice, signal, thread_time_ns,
};
pub use vhost::{VhostMode, VhostOptions};
pub use xdp::{XdpPort, try_xdp};

/// Does what any input says to a memif port: see `fuzz/`.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use memif::exercise::exercise as exercise_memif;
/// Does what any input says to a vhost-user port: see `fuzz/`.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub use vhost::exercise::exercise as exercise_vhost_user;
