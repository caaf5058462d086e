//! The reference executor: slow, obvious, and the specification of every other executor.

mod state;
mod trace;

pub use state::State;
pub use trace::{Event, NoTrace, Tracer};
