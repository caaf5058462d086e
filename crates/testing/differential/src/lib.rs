//! Random P4 programs with entries and packets, on which all executors must do the same.
//!
//! ```text
//!   seed ─► generate: P4 text ─► compile ─► entries for its tables ─┐
//!      └──► packets ────────────────────────────────────────────────┴─► compare
//!                    interpreter | machine code | timed chip: one packet at a time, everything that can be seen
//!                    interpreter | machine code, one worker | several workers: all packets at once, what leaves
//! ```
//!
//! 1. [`generate`]: text of a program that the front end must accept, whatever the seed.
//! 2. [`mod@entries`]: entries, groups and sessions for what the program declares.
//! 3. [`packets`]: frames that such programs parse more often than not.
//! 4. [`mod@compare`]: the executors, and what they did differently.
//! 5. [`given`]: programs of people in place of random ones, with frames for each path through their parsers and
//!    entries that these meet.
//! 6. [`twins`]: the same programs beside what p4c made of them.
//! 7. [`workers`]: a switch with ports in memory and any number of workers; other tests use it too.
//!
//! Programs of people are compared with themselves: [`rewrite`] changes their text and not their meaning.
//!
//! `cargo run --release -p forebay-differential -- --minutes 30` goes on until something differs or the time is over,
//! and prints the seed and the program of what differs. With `--programs FOLDER` it takes the programs there.

#![forbid(unsafe_code)]

pub mod compare;
pub mod entries;
pub mod generate;
pub mod given;
pub mod packets;
pub mod rewrite;
pub mod twins;
pub mod workers;

pub use compare::{Compared, compare, compare_text};
