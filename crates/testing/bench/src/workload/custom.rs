//! Any program, with entries and traffic that a user brings. There is no twin.

use super::{Scale, Twin, Updates, Workload};
use crate::error::BenchError;
use crate::frames::FrameSet;
use forebay_ir::Program;
use forebay_pipeline::Pipeline;
use std::sync::Arc;

/// Fills the tables of a pipeline; the error says what does not suit the program.
pub type Configure = Box<dyn Fn(&Arc<Pipeline>) -> Result<(), String>>;

/// A user's program.
pub struct Custom {
    /// What it is called.
    pub name: String,
    /// The program.
    pub program: Program,
    /// Fills its tables.
    pub configure: Configure,
    /// The ports. Traffic comes by the first.
    pub ports: Vec<u32>,
    /// The traffic, which is repeated.
    pub frames: FrameSet,
    /// What is written beside them.
    pub updates: Option<Updates>,
}

impl Workload for Custom {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn scale(&self) -> Option<Scale> {
        None
    }

    fn compile(&self) -> Result<Program, BenchError> {
        Ok(self.program.clone())
    }

    fn configure(&self, pipeline: &Arc<Pipeline>) -> Result<(), BenchError> {
        (self.configure)(pipeline).map_err(BenchError::Entries)
    }

    fn ports(&self) -> Vec<u32> {
        self.ports.clone()
    }

    fn frames(&self) -> FrameSet {
        self.frames.clone()
    }

    fn twin(&self) -> Option<Twin> {
        None
    }

    fn updates(&self) -> Option<&Updates> {
        self.updates.as_ref()
    }
}
