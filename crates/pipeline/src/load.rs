//! From a program to a pipeline.

use crate::error::LoadError;
use crate::outcome::DropCounters;
use forebay_ir::Program;
use std::sync::Arc;

/// Limits, and which executor runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Operations that one body may execute for one packet.
    pub step_limit: u64,
    /// Resubmissions of one packet.
    pub resubmit_limit: u32,
    /// Recirculations of one packet.
    pub recirculate_limit: u32,
    /// Bytes that a packet may have.
    pub packet_limit: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            step_limit: 1_000_000,
            resubmit_limit: 1_000,
            recirculate_limit: 10_000,
            packet_limit: 65_535,
        }
    }
}

/// A loaded program with its tables, shared by all workers and the control plane.
#[derive(Debug)]
pub struct Pipeline {
    program: Arc<Program>,
    options: Options,
    drops: DropCounters,
}

impl Pipeline {
    /// Loads a program with default options.
    pub fn load(program: Program) -> Result<Pipeline, LoadError> {
        Pipeline::load_with(program, Options::default())
    }

    /// Loads a program.
    pub fn load_with(program: Program, options: Options) -> Result<Pipeline, LoadError> {
        Ok(Pipeline {
            program: Arc::new(program),
            options,
            drops: DropCounters::default(),
        })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Limits.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Dropped packets by reason. The switch counts its own reasons here too.
    pub fn drops(&self) -> &DropCounters {
        &self.drops
    }
}
