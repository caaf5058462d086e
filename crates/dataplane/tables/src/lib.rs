//! Match engines and stateful objects, readable while they are written.
//!
//! This crate holds everything of a P4 program that outlives a packet. It does not depend on the syntax or the names of
//! a program: actions, members and groups are numbers, keys are [`Bits`](forebay_bits::Bits). From the bottom up:
//!
//! | layer | modules | what it is |
//! |---|---|---|
//! | keys | [`key`] | match kinds, and one entry's condition on one key field |
//! | words | [`layout`] | keys and action data as engines and machine code see them |
//! | memory | [`epoch`], `arena` | when memory that readers may still access can be reused |
//! | engines | `exact`, `direct_lpm`, `lpm`, `rules` over `bit_vector`; `engine` | from a key to the winning record |
//! | indices | `packed_exact_index`, `compact_tbl24` | smaller copies of tables, beside `exact` and `direct_lpm` |
//! | machine code | [`search`] | what machine code needs to look keys up itself |
//! | tables | [`entry`], `table_spec`, [`table`], [`view`] | entries, actions, a default action; the writer's and the readers' side |
//! | indirection | [`profile`] | action profiles and selectors: members, groups, weights |
//! | stateful objects | [`register`] under [`lock_stripes`], [`counter`], [`meter`] | arrays that packets change |
//! | functions | [`hash`], [`crc`], [`reflected_crc`], [`checksum`] | the hash algorithms of the architectures |
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
//!     memo: false,
//!     learns: false,
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
//! *Tables* have one writer and any number of readers that never wait for it: see [`view`] for what readers see, and
//! [`epoch`] for how they announce that they are reading. An entry is published with one store. Changes that must
//! appear all at once are written into a clone of the table, which a pipeline then publishes in its place.
//!
//! *Profiles* are values: a write takes `&mut self`, and workers read a snapshot.
//!
//! *Stateful objects* are shared: packets change them through `&self`, with atomic words, a lock per element, or in
//! atomic sections, and the control plane reads them while they change. Each object's module states what it guarantees
//! to packets that run at the same time.
//!
//! Nothing here reads a clock or draws a random number: times are arguments, in nanoseconds.
//!
//! # Failures
//!
//! What a control plane may get wrong is a small error enum ([`TableError`], [`ProfileError`], [`MeterError`],
//! [`ArrayTooLarge`]). An index that a packet computed is never an error: outside an array, reads give zero and writes
//! do nothing. A look-up with the wrong number of key fields is a bug of the caller and panics.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod arena;
pub mod batch_lookup;
mod bit_vector;
pub mod checksum;
mod compact_tbl24;
pub mod counter;
pub mod crc;
mod direct_lpm;
mod engine;
pub mod entry;
pub mod epoch;
mod exact;
pub mod hash;
mod hit_times;
pub mod key;
pub mod layout;
mod learned;
pub mod lock_stripes;
mod lpm;
pub mod memory;
pub mod meter;
mod meter_rates;
mod order;
mod packed;
mod packed_exact_index;
mod profile;
pub mod reflected_crc;
pub mod register;
mod rules;
pub mod search;
mod second_index;
mod shards;
mod simd;
mod storage;
mod sync;
pub mod table;
mod table_spec;
mod toeplitz;
pub mod view;

pub use batch_lookup::{Found, LookUp, OnePlace, TOGETHER_MAX, ahead, find_together, prefetch_together};
pub use counter::{CounterArray, CounterKind, CounterValue};
pub use entry::{ActionCall, ActionId, ActionRef, Entry, EntryAction, EntryId, GroupId, MemberId, NewEntry};
pub use epoch::{Domain, Groups, Pin, Published, Reader, Session, State, Version};
pub use hit_times::HitTimes;
pub use key::{KeyError, KeyMatch, KeySpec, MatchKind};
pub use layout::{Key, KeyLayout, NO_SLOT, Placement, Record, RecordLayout, SLOT_BITS};
pub use lock_stripes::{Lock, SectionLocks};
pub use meter::{ColorCounts, MeterArray, MeterColor, MeterError, MeterKind};
pub use meter_rates::{MeterConfig, TokenRate};
pub use profile::{ActionProfile, ProfileError};
pub use register::{LOCKED_BITS_MAX, RegisterArray};
pub use search::{Location, Search};
pub use storage::ArrayTooLarge;
pub use table::{LookupResult, Table};
pub use table_spec::{ActionError, ActionScope, ActionSpec, Implementation, TableError, TableSpec};
pub use view::{FIND_MAX, Hint, TableView};
