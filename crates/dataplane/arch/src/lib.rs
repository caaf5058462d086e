//! Architectures: what happens to a packet around the bodies of a program.
//!
//! [`attach`] makes the [graph](forebay_ir::pipeline) of a program's architecture: which bodies run in which order, what
//! they are told of the packet, when it is cloned, queued, resubmitted, recirculated, dropped or transmitted. Executors
//! follow the graph and know no architecture.
//!
//! | file | architecture | with the meaning of |
//! |---|---|---|
//! | `v1model.rs` | `v1model.p4` | BMv2's simple_switch |
//! | `psa.rs` | `psa.p4` | the specification of the Portable Switch Architecture |
//! | `pna.rs` | `pna.p4` | the specification of the Portable NIC Architecture |
//!
//! A builder leaves out what no body asks for: a program without `clone` has no clone entry.

#![forbid(unsafe_code)]

mod build;
pub mod pna;
pub mod psa;
pub mod v1model;

use forebay_ir::{Architecture, Program};
use std::fmt;

/// What a program lacks that its architecture cannot do without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// No body plays this role.
    MissingBlock(String),
    /// There is no such field of intrinsic metadata.
    MissingIntrinsic(String),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::MissingBlock(role) => write!(f, "the program has no block {role}"),
            BuildError::MissingIntrinsic(name) => write!(f, "the program's metadata has no field `{name}`"),
        }
    }
}

impl std::error::Error for BuildError {}

/// Gives a program the graph of its architecture, unless it has one, and the slots that the graph needs.
///
/// # Errors
/// When the program lacks a block or a field of intrinsic metadata that the architecture needs.
pub fn attach(program: &mut Program) -> Result<(), BuildError> {
    if program.graph.is_some() {
        return Ok(());
    }
    let graph = match program.architecture {
        Architecture::V1Model => v1model::graph(program)?,
        Architecture::Psa => psa::graph(program)?,
        Architecture::Pna => pna::graph(program)?,
    };
    program.graph = Some(graph);
    debug_assert_eq!(forebay_ir::verify::verify(program), []);
    Ok(())
}
