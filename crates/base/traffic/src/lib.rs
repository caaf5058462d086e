//! Traffic: frames with right checksums, small IoT messages that can be verified byte for byte,
//! and a checker that says what became of each.
//!
//! 1. [`frame`]: builds whole Ethernet frames; [`mod@inspect`] takes them apart and checks them.
//! 2. [`wire`]: what frames cost on a wire, and how much of it is headers.
//! 3. [`message`]: the message of the aggregation experiments and its N-packet.
//! 4. [`source`]: messages of many flows in turn.
//! 5. [`sequence`]: loss, duplication and reordering of one flow (RFC 4737).
//! 6. [`checker`]: all of it together for a receiver.
//!
//! Everything is a function of its arguments: the caller provides sockets, ports and clocks.
//!
//! ```
//! use forebay_traffic::{Checker, MessageFormat, MessageSource};
//!
//! let format = MessageFormat::new(16).unwrap();
//! let mut source = MessageSource::new(format, 2);
//! let mut checker = Checker::new(format, 2);
//! let mut datagram = Vec::new();
//! for _ in 0..10 {
//!     source.next_udp_payload(&mut datagram); // what a device sends through its socket
//!     checker.receive(&datagram); // what the server got
//! }
//! let report = checker.report(source.sent());
//! assert!(report.is_perfect());
//! assert_eq!(report.delivered, 10);
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

pub mod checker;
pub mod frame;
pub mod inspect;
pub mod message;
pub mod mixed;
pub mod sequence;
pub mod source;
pub mod wire;

pub use checker::{Checker, Report, Verdict};
pub use frame::{FrameSpec, Network, Transport, VlanTag};
pub use inspect::{FrameFault, Inspected, inspect};
pub use message::{FormatError, MessageFault, MessageFormat, MessageId};
pub use sequence::{Arrival, SequenceTracker};
pub use source::MessageSource;
