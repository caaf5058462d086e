//! Wrappers that add one thing to any port: [`Trace`] tells a sink, [`Capture`] writes a pcap
//! file, [`Loss`] drops at random from a seed, [`Delay`] holds packets back, [`Gate`] can be closed.
//!
//! They nest: `Capture::new(Loss::new(port, 0.01, 42), writer)` captures what survives the loss
//! on the way in, and everything the switch meant to send on the way out.

mod capture;
mod delay;
mod gate;
mod loss;
mod trace;

pub use capture::Capture;
pub use delay::Delay;
pub use gate::{Gate, Latch};
pub use loss::Loss;
pub use trace::{Trace, TraceSink};
