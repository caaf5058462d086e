//! The benchmark harness: how fast packets go through a compiled program, and through the same function written by
//! hand.
//!
//! ```text
//!   FramePort ─ bursts of 64 ─► switch with the P4 program ─► FramePort        memory to memory,
//!   FramePort ─ bursts of 64 ─► hand-written twin          ─► FramePort        one process,
//!   FramePort ─ bursts of 64 ─► nothing                    ─► FramePort        no system call
//! ```
//!
//! 1. [`frames`]: the traffic, prepared in memory; [`malformed`] damages it.
//! 2. [`ports`]: ports that copy frames out of there for ever, and count or collect what is sent to them.
//! 3. [`workload`]: what can be measured: a program, entries, traffic and, for the programs of this repository, a twin.
//! 4. [`contender`]: the three ways above behind one trait: [`Work`].
//! 5. [`agreement`]: a twin must give the same bytes and drops as the program before it is measured beside it.
//! 6. [`mod@measure`]: warm-up, interleaved rounds, medians, one thread for each worker.
//! 7. [`account`]: every packet of much malformed traffic is sent, or dropped for a named reason.
//! 8. [`report`]: tables and JSON.
//!
//! # What is measured
//! The switch is [`forebay_switch::Switch`] around [`forebay_pipeline::Pipeline`], as `forebay run` has it. Copying a
//! frame into a packet's buffer is the harness's part; it is the same for all contenders, and the third way says what
//! it costs. Contenders take turns in each round, so that whatever else the machine does falls on all of them. Ratios
//! are medians of the rounds' ratios.
//!
//! This crate reads clocks and pins threads; it depends on no interface.

pub mod account;
pub mod agreement;
pub mod clock;
pub mod contender;
mod error;
pub mod frames;
pub mod malformed;
pub mod measure;
pub mod ports;
pub mod programs;
pub mod report;
pub mod workload;

pub use contender::Work;
pub use error::BenchError;
pub use frames::FrameSet;
pub use measure::{Job, Measured, Options, measure};
pub use workload::{Scale, Workload};
