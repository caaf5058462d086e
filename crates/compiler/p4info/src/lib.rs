//! P4Info: the description of a program for a P4Runtime control plane (P4Runtime specification, chapter "P4Info").
//!
//! * [`model`]: the messages of `p4.config.v1`, as plain structures with the names of the protobuf.
//! * [`ids`]: numbers of objects and of fields, as p4c assigns them, so that a controller written against p4c's P4Info
//!   works unchanged. [`alias`]: short names.
//! * [`read`] and [`write()`]: the text form (`.p4info.txtpb`). [`textproto`] is the generic layer underneath.
//! * [`equivalent`]: whether two P4Infos mean the same to a controller, and if not, every difference.
//!
//! # Building one
//!
//! Collect the names of everything first, let [`ids::SymbolTable`] number them, then fill in structures; every message
//! has a [`Default`], and a field at its default is a field that is not there:
//!
//! ```
//! use forebay_p4info::ids::{SymbolKind, SymbolTable};
//! use forebay_p4info::model::{ActionRef, Match, MatchField, MatchType, P4Info, Table};
//!
//! let mut symbols = SymbolTable::new();
//! symbols.add(SymbolKind::Table, "MyIngress.ipv4_lpm", None);
//! symbols.add(SymbolKind::Action, "NoAction", None);
//! let symbols = symbols.assign().expect("no @id clashes");
//!
//! let mut info = P4Info::default();
//! info.tables.push(Table {
//!     preamble: symbols.preamble(SymbolKind::Table, "MyIngress.ipv4_lpm"),
//!     match_fields: vec![MatchField {
//!         id: 1,
//!         name: "hdr.ipv4.dstAddr".to_owned(),
//!         bitwidth: 32,
//!         match_kind: Some(Match::MatchType(MatchType::Lpm)),
//!         ..MatchField::default()
//!     }],
//!     action_refs: vec![ActionRef { id: symbols.id(SymbolKind::Action, "NoAction"), ..ActionRef::default() }],
//!     size: 1024,
//!     ..Table::default()
//! });
//! let text = forebay_p4info::write(&info);
//! assert!(text.contains("alias: \"ipv4_lpm\""));
//! assert_eq!(forebay_p4info::read(&text), Ok(info));
//! ```
//!
//! Numbers of match fields, action parameters and packet metadata come from [`ids::field_ids`].

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![forbid(unsafe_code)]

pub mod alias;
mod difference;
mod field;
pub mod ids;
pub mod model;
pub mod textproto;
mod version;

pub use difference::{Difference, equivalent};
pub use version::{Version, VersionError};

use field::Message;
use model::P4Info;
use textproto::ReadError;

/// What p4c writes at the top of every file.
const HEADER: &str = "# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\n";

/// The text form, as p4c formats it: fields in order of their numbers, two blanks a level.
pub fn write(info: &P4Info) -> String {
    format!("{HEADER}{}", textproto::write(&info.to_tree()))
}

/// Reads a text form.
///
/// # Errors
/// At the first mistake. An unknown field is one, since it would be lost silently.
pub fn read(text: &str) -> Result<P4Info, ReadError> {
    P4Info::from_tree(&textproto::parse(text)?)
}
