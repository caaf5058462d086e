//! The rules of a session (TS 29.244 §5.2): what packets they find, and what becomes of them.
//!
//! ```text
//!   PDR (which packets) ─┬─► FAR (forward, buffer, drop) ─► BAR (how many to keep)
//!                        ├─► QER (gate, rate, QFI)
//!                        └─► URR (count, report)
//! ```
//!
//! Each kind is read from the elements that create it, changed by those that update it, and written as the former
//! again: a session is saved as the elements that would create it. What the UPF cannot do is refused, not left out.
//!
//! FARs, QERs and URRs have a `number` besides their identifier: it is unique in the whole UPF, where the identifier is
//! unique in its session.

mod bar;
mod far;
mod filter;
mod pdr;
mod qer;
mod urr;

pub use bar::Bar;
pub use far::{Far, actions};
pub use filter::{Filter, Network};
pub use pdr::{Interface, Pdi, Pdr};
pub use qer::Qer;
pub use urr::{Measured, Report, Urr, triggers};

/// A QFI has six bits; the two others of its element are spare (§8.2.89).
const QFI_BITS: u8 = 0x3f;
