//! STF, the "simple test framework" of p4c: files that fill tables, send packets and say what must come out.
//!
//! ```text
//! add ipv4_lpm hdr.ipv4.dstAddr:0x0a000100/24 forward(port:2)   # a table entry
//! packet 1 000000000001 000000000002 0800 4500...               # a packet arrives on port 1
//! expect 2 000000000001 000000000002 0800 45** $                # the packet that must leave port 2
//! ```
//!
//! [`parse`] reads a file into a [`Test`]. The grammar and the meaning are those of p4c's BMv2 runner
//! (`tools/stf`, `backends/bmv2/bmv2stf.py`).

mod command;
mod expected;
mod literal;
mod parse;

pub use command::*;
pub use expected::{ExpectedPacket, hex};
pub use literal::Literal;
pub use parse::{ParseError, parse};
