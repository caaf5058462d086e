//! Match engines and stateful objects, readable while they are written.
//!
//! This crate holds everything of a P4 program that outlives a packet. It knows neither the
//! syntax nor the names of a program: actions, members and groups are numbers, keys are
//! [`Bits`](forebay_bits::Bits). From the bottom up:
//!
//! | layer | modules | what it is |
//! |---|---|---|
//! | keys | [`key`] | match kinds, and one entry's condition on one key field |
//! | engines | `exact`, `lpm`, `ternary`, behind `engine` | from a packet's key to the slot of the entry that wins |
//! | tables | [`entry`], [`table`] | entries with priorities, actions, sizes, a default action |
//! | indirection | [`profile`] | action profiles and selectors: members, groups, weights |
//! | stateful objects | [`register`], [`counter`], [`meter`] | arrays that packets change |
//! | functions | [`hash`], [`crc`], [`checksum`] | the hash algorithms of v1model and PSA |
//!
//! ```
//! use forebay_bits::Bits;
//! use forebay_tables::{
//!     ActionCall, ActionId, ActionRef, ActionScope, ActionSpec, EntryAction, Implementation,
//!     KeyMatch, KeySpec, MatchKind, NewEntry, Table, TableSpec,
//! };
//!
//! let forward = ActionId(1);
//! let drop = ActionCall::new(ActionId(0), vec![]);
//! let mut routes = Table::new(TableSpec {
//!     keys: vec![KeySpec { width: 32, kind: MatchKind::Lpm }],
//!     size: 1024,
//!     actions: vec![
//!         ActionSpec::new(ActionId(0), vec![], ActionScope::TableAndDefault),
//!         ActionSpec::new(forward, vec![9], ActionScope::TableAndDefault),
//!     ],
//!     default_action: drop,
//!     const_default: false,
//!     implementation: Implementation::Direct,
//! });
//!
//! let net_10 = KeyMatch::Lpm { value: Bits::new(32, 0x0A00_0000), prefix_len: 8 };
//! let to_port_3 = ActionCall::new(forward, vec![Bits::new(9, 3)]);
//! routes.insert(NewEntry::new(vec![net_10], 0, EntryAction::Call(to_port_3.clone())))?;
//!
//! let result = routes.lookup(&[Bits::new(32, 0x0A01_0203)]);
//! assert_eq!(result.action, ActionRef::Call(&to_port_3));
//! assert!(routes.lookup(&[Bits::new(32, 0x0B01_0203)]).hit.is_none());
//! # Ok::<(), forebay_tables::TableError>(())
//! ```
//!
//! # Readers and writers
//!
//! *Tables and profiles* are values: a lookup takes `&self` and neither locks nor changes
//! anything but a hit time, a write takes `&mut self`, and a clone shares its entries with the
//! original. Workers therefore read a snapshot (`Arc<Table>`), while the control plane clones it,
//! applies a whole batch of writes to the clone, and publishes that: read, copy, update.
//!
//! *Stateful objects* are shared: packets change them through `&self`, with atomic words or one
//! lock per element or stripe, and the control plane reads them while they change. Whatever an
//! object promises to packets that run at the same time stands in its module.
//!
//! Nothing here reads a clock or draws a random number: times are arguments, in nanoseconds.
//!
//! # Failures
//!
//! What a control plane may get wrong is a small error enum ([`TableError`], [`ProfileError`],
//! [`MeterError`], [`ArrayTooLarge`]). An index that a packet computed is never an error: outside
//! an array, reads give zero and writes do nothing. A key of the wrong number of fields in a
//! lookup is a mistake of ours and panics.

pub mod checksum;
pub mod counter;
pub mod crc;
mod engine;
pub mod entry;
mod exact;
pub mod hash;
pub mod key;
mod lpm;
pub mod meter;
pub mod profile;
pub mod register;
mod storage;
pub mod table;
mod ternary;

pub use counter::{CounterArray, CounterKind, CounterValue};
pub use entry::{
    ActionCall, ActionId, ActionRef, Entry, EntryAction, EntryId, GroupId, MemberId, NewEntry,
};
pub use hash::HashAlgorithm;
pub use key::{KeyError, KeyMatch, KeySpec, MatchKind};
pub use meter::{MeterArray, MeterColor, MeterConfig, MeterError, MeterKind};
pub use profile::{ActionProfile, ProfileError};
pub use register::RegisterArray;
pub use storage::ArrayTooLarge;
pub use table::{
    ActionError, ActionScope, ActionSpec, Implementation, LookupResult, Table, TableError,
    TableSpec,
};
