//! The program of a test file on a chip of the timed model: which chip, and which of its rules the file lifts.

use crate::test_file::DeviceEntry;
use forebay_chip::ChipSpec;
use forebay_ir::Program;
use forebay_sim::rules::{self, Mistakes, RuleKeys};
use forebay_sim::{Constant, Library, Lifted, chip_spec};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A chip as the rules that are lifted leave it.
pub struct OnChip {
    /// Its specification.
    pub spec: ChipSpec,
    /// Rules of the chip that do not hold in this test.
    pub lifted: Vec<Lifted>,
    /// How often the program's registers and meters exist.
    pub states: u16,
}

/// What figures of a chip hang on, as results have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ChipRemarks {
    pub spec: String,
    /// Rules of the chip that do not hold in this test.
    pub lifted: Vec<Lifted>,
    /// Constants of the chip's model that were fitted to published results.
    pub fitted: Vec<Constant>,
    /// Values of a chip of the user's own of which it does not say where they come from.
    #[serde(default)]
    pub unsourced: Vec<String>,
}

impl OnChip {
    /// The chip with this name, for a program. `name_span` is where the file names the chip; `ignore_fit` is the
    /// caller's reason to time a program that does not fit. All rules are those of `forebay sim`.
    pub fn read(
        entry: &DeviceEntry,
        (name, name_span): (&str, Range<usize>),
        program: Option<&Program>,
        ignore_fit: Option<&str>,
        library: &dyn Library,
        mistakes: &mut Mistakes,
    ) -> Option<OnChip> {
        let mut spec = match chip_spec(name, library) {
            Ok(spec) => spec,
            Err(message) => {
                mistakes.push((name_span, message));
                return None;
            }
        };
        // A program that cannot be compiled is told of where it is read.
        let program = program?;
        let lifted = rules::lifted(&keys(entry, name_span), &mut spec, program, ignore_fit, mistakes);
        let states = rules::states(&spec, program);
        Some(OnChip { spec, lifted, states })
    }

    /// What figures of this chip hang on.
    pub fn remarks(&self) -> ChipRemarks {
        ChipRemarks {
            spec: self.spec.name.clone(),
            lifted: self.lifted.clone(),
            fitted: self.spec.fitted(),
            unsourced: self.spec.unsourced(),
        }
    }
}

fn keys(entry: &DeviceEntry, spec: Range<usize>) -> RuleKeys<'_> {
    RuleKeys {
        spec,
        program: entry.program.as_ref().map_or(0..0, |program| program.span()),
        ignore_fit: entry.ignore_fit,
        ignore_fit_reason: entry.ignore_fit_reason.as_ref(),
        max_resubmissions: entry.max_resubmissions.as_ref(),
        max_resubmissions_reason: entry.max_resubmissions_reason.as_ref(),
        max_egress_bytes: entry.max_egress_bytes.as_ref(),
        max_egress_bytes_reason: entry.max_egress_bytes_reason.as_ref(),
        shared_registers: entry.shared_registers,
        shared_registers_reason: entry.shared_registers_reason.as_ref(),
    }
}
