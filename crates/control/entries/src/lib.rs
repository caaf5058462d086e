//! The language of STF, the "simple test framework" of p4c: commands that fill tables and configure a pipeline, and
//! packets with what is expected of them.
//!
//! ```text
//! add ipv4_lpm hdr.ipv4.dstAddr:0x0a000100/24 forward(port:2)   # a table entry
//! packet 1 000000000001 000000000002 0800 4500...               # a packet arrives on port 1
//! expect 2 000000000001 000000000002 0800 45** $                # the packet that must leave port 2
//! ```
//!
//! [`parse()`] reads a text into a [`Test`]. A [`Controller`] applies the commands that configure a pipeline, one by
//! one; `forebay run --entries`, scenarios of the timed model, and the test runner (`forebay-stf`) use it. Grammar and
//! meaning are those of p4c's BMv2 runner (`tools/stf`, `backends/bmv2/bmv2stf.py`), which the modules' documentation
//! spells out.
//!
//! # Where we go further than the reference runner
//! * `check_counter`, `remove` and `no_packet` do what they say; there they are ignored or not implemented.
//! * A key field may be written `VALUE&&&MASK` or `LOW->HIGH`; `mirroring_add` takes a length to cut clones to.
//! * An LPM field written in hexadecimal without `/` and `*` is compared in all its bits; there only in as many as the
//!   digits have, counted from the left, which is the same when all digits are written.
//! * A comment line `# forebay: -D N=2` gives [`options`] for the compilation of the program under test.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

mod command;
mod controller;
mod entry;
mod expected;
mod literal;
mod names;
mod parse;
mod replication;

pub use command::*;
pub use controller::{Applied, Controller};
pub use entry::{EntryKey, action_call, entry_key, fitting, table_index};
pub use expected::{ExpectedPacket, hex};
pub use literal::Literal;
pub use parse::{ParseError, are_commands, options, parse};
