//! The tester: sends frames when they are due, and measures every one that comes back.
//!
//! ```text
//!  test.toml ─► Test ─► Session ─► self test ─► trials ─► Results ─► text, JSON, HTML
//!               all mistakes       on a wire     │          compared with other results
//!               with their lines                 └─ searches: MLRsearch, RFC 2544
//! ```
//!
//! * [`Test::read`] finds whatever is wrong with a test file before any frame is sent.
//! * [`device`]: a wire, a program in memory, interfaces, a chip in simulated time: all are ports.
//! * [`trial`]: the loop; [`sender`] and [`schedule`] say what is due, [`tag`] what each frame carries, [`path`] and
//!   [`sequence`] what is measured of it, [`polling`] how far the machine disturbed.
//! * [`reference`](mod@reference): what the reference executor says of each frame.
//!
//! # Guarantees
//! * Loss, duplication and reordering are counted exactly, of every frame. What could not be sent is no loss.
//! * Latency is of every frame, and from the time at which it *should* have been sent: a tester that is late, or a
//!   device that pushes back, cannot make it look shorter.
//! * In simulated time ([`Session::in_simulated_time`], or with a chip) the same file and seed give the same results.

#![forbid(unsafe_code)]

pub mod clock;
pub mod density;
pub mod device;
pub mod entries;
mod expectations;
pub mod frames;
pub mod gaps;
pub mod impairment;
mod impairment_entries;
mod line_rate;
mod loaded;
pub mod machine;
pub mod messages;
mod numbers;
pub mod on_chip;
pub mod one_by_one;
pub mod parser_paths;
pub mod path;
pub mod polling;
pub mod reference;
pub mod report;
pub mod results;
mod run;
pub mod schedule;
pub mod search;
pub mod self_test;
pub mod sender;
pub mod sequence;
pub mod setup;
mod shared_tail;
pub mod stream;
pub mod tag;
pub mod test_file;
mod traffic;
pub mod trial;

pub use forebay_histogram as histogram;
pub use results::Results;
pub use run::Session;
pub use setup::{Overrides, Test};
pub use trial::{Progress, Silent};
