//! Messages of PFCP as bytes (TS 29.244 §7 and §8): header, information elements, and the values in them.
//!
//! * [`Header`]: the header of a message, and the elements after it.
//! * [`Elements`]: information elements of a message or of a grouped element, looked up by type.
//! * [`Reader`], [`Writer`]: numbers in network byte order.
//! * [`Value`]: what an element of one type holds; `values.rs` and `addresses.rs` have them.
//!
//! Reading never panics, allocates nothing that is longer than the datagram, and says which element is at fault
//! ([`Refusal`]). Octets after the end of a known value are left alone, as later releases add some (§8.1.1).

mod addresses;
mod elements;
mod header;
pub mod kind;
mod reader;
mod refusal;
mod values;
mod writer;

pub use addresses::{Addresses, FSeid, FTeid, NodeId, OuterHeader, UeAddress};
pub use elements::Elements;
pub use header::{Header, HeaderError, MessageType};
pub use reader::{Fault, Reader, Value};
pub use refusal::{Cause, Refusal, RuleId};
pub use values::{Rates, Usage, Volume, truncated_ntp};
pub use writer::Writer;
