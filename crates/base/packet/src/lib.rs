//! Packet buffers, pcap files, and the [`Port`] trait with its decorators.
//!
//! The layers, from the bottom:
//!
//! 1. [`Packet`]: one frame in a buffer that can grow at both ends without being copied.
//! 2. [`Pool`] and [`Burst`]: free packets, and a bounded vector of packets in flight. After a
//!    warm-up nothing on the data path allocates: every packet that leaves a burst goes back to
//!    its spares, and ports *exchange* buffers instead of giving them away.
//! 3. [`Port`]: bursts in, bursts out, never blocking. What a port cannot carry is dropped and
//!    counted under a [`DropReason`]; only a port that is out of order is an error.
//! 4. [`MemoryPort`]: two ends joined by bounded queues, for tests and benchmarks; [`TimerPort`]: packets made by a
//!    clock.
//! 5. [`decorators`]: tracing, capture, loss and delay, each wrapping any port.
//!
//! Beside them stand [`pcap`] (files, over any `Read` or `Write`), [`checksum`] (RFC 1071) and [`scheduler`] (which
//! queue of a port is next).
//!
//! The whole data path of a program on top of this crate is four verbs:
//!
//! ```
//! use forebay_packet::{Burst, MemoryPort, Port};
//!
//! let (mut left, mut outside) = MemoryPort::pair("left", "outside", 64);
//! outside.inject(&[0xab; 60]);
//! let mut burst = Burst::new(32);
//! left.receive(&mut burst, 32, 0).unwrap(); // receive
//! for packet in burst.iter_mut() {
//!     packet.data_mut()[0] = 0xcd; // process
//! }
//! left.send(&mut burst, 0).unwrap(); // send, which recycles
//! assert_eq!(outside.extract().unwrap()[0], 0xcd);
//! ```
//!
//! # Invariants
//! No system call, no clock, no thread: the time is an argument (`now_ns`), in nanoseconds since
//! an epoch the caller chooses (the Unix epoch when capture files are written).

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![deny(unsafe_code)]

mod buffer;
mod burst;
pub mod checksum;
pub mod copy;
pub mod decorators;
mod delegate;
mod memory;
mod packet;
pub mod pcap;
mod pool;
mod port;
pub mod prefetch;
mod random;
pub mod scheduler;
mod timer;

pub use buffer::{DEFAULT_HEADROOM, DEFAULT_ROOM};
pub use burst::{Burst, DEFAULT_BURST};
pub use memory::MemoryPort;
pub use packet::Packet;
pub use pool::Pool;
pub use port::{
    Direction, DropReason, FRAME_BYTES_MAX, GroupCounters, Port, PortCounters, PortError, PortState, Readiness,
};
pub use random::SplitMix64;
pub use timer::{TIMER_FRAME_BYTES, TimerKind, TimerNumbers, TimerPort, timer_frame};
