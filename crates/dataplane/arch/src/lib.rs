//! Architectures: what happens to a packet around the bodies of a program.
//!
//! [`attach`] makes the [graph](forebay_ir::pipeline) of a program's architecture: which bodies run in which order,
//! which arguments they get, and when a packet is cloned, queued, resubmitted, recirculated, dropped or transmitted.
//! Executors follow the graph and do not depend on the architecture.
//!
//! | file | architecture | as specified by |
//! |---|---|---|
//! | `v1model.rs` | `v1model.p4` | BMv2's simple_switch |
//! | `psa.rs` | `psa.p4` | the specification of the Portable Switch Architecture |
//! | `pna.rs` | `pna.p4` | the specification of the Portable NIC Architecture |
//!
//! A builder leaves out what no body uses: a program without `clone` has no clone entry.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod build;
pub mod pna;
pub mod psa;
pub mod v1model;

use forebay_ir::verify::{VerifyError, verify_graph};
use forebay_ir::{Architecture, Program};
use std::fmt;

/// A part that the architecture requires and the program lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// No body has this role.
    MissingBlock(String),
    /// This field of intrinsic metadata is missing.
    MissingIntrinsic(String),
    /// The fields of intrinsic metadata have other types than the architecture's: what the verifier says of the graph.
    IllTyped(VerifyError),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::MissingBlock(role) => write!(f, "the program has no block {role}"),
            BuildError::MissingIntrinsic(name) => write!(f, "the program's metadata has no field `{name}`"),
            BuildError::IllTyped(error) => write!(
                f,
                "the program's metadata has other types than the architecture's: {error}"
            ),
        }
    }
}

impl std::error::Error for BuildError {}

/// Gives a program the graph of its architecture, unless it already has one, and the slots that the graph needs.
///
/// # Errors
/// If the program lacks a block or a field of intrinsic metadata that the architecture requires, or a field has another
/// type.
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
    match verify_graph(program).into_iter().next() {
        Some(error) => Err(BuildError::IllTyped(error)),
        None => Ok(()),
    }
}

/// Whether the graph of a program is the one that [`attach`] would give it. One that was read from a file may be
/// another.
pub fn has_own_graph(program: &Program) -> bool {
    let mut again = program.clone();
    again.graph = None;
    attach(&mut again).is_ok() && again.graph == program.graph
}
