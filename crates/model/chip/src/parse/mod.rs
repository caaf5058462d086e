//! How long a parser takes for a packet.
//!
//! A parser of the chip takes one of its states a cycle. How many a packet meets follows from the program's parser and
//! the packet's bytes: the parser is unfolded into a tree once ([`tree`]), each way of which has its cycles
//! ([`cycles`]), and every packet is followed through it ([`ParseTree::walk`]).
//!
//! ```text
//!  program ─► tree of selects, keys at fixed bits of the frame ─► walk(frame) ─► cycles, bytes of headers
//!             values known where the way is (`values`)
//! ```
//!
//! What decides a way and is no bit of the frame, its port or its instance type (metadata that an earlier pass has
//! preserved, a value set), is not known here: the way that takes longest counts. Nor is what comes after a field
//! whose length the packet decides; of a loop there one round counts.

mod cycles;
mod egress;
mod fit;
mod tree;
mod values;

pub(crate) use cycles::{Costs, PARTS};
pub(crate) use egress::EgressStates;
pub use fit::ParserNeeds;
pub(crate) use fit::ingress_parser;
pub(crate) use tree::{ParseTree, Parsed};

#[cfg(test)]
mod tests;
