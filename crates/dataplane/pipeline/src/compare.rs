//! Compares the states of two pipelines that have executed the same program and the same packets.

use crate::load::Pipeline;
use crate::outcome::DropReason;

/// The number of elements of an array that are compared. Packets of tests do not use larger indices, and larger arrays
/// consist mostly of memory that was never accessed.
const ELEMENTS_MAX: usize = 1 << 20;

impl Pipeline {
    /// Arrays that packets have written (registers, counters, drop counters) and that differ from those of `other`, a
    /// pipeline of the same program: a line of text for each array.
    pub fn differences(&self, other: &Pipeline) -> Vec<String> {
        self.differences_beside(other, &[])
    }

    /// The same, without drops for reasons that what stands around one of both counts by itself.
    pub fn differences_beside(&self, other: &Pipeline, elsewhere: &[DropReason]) -> Vec<String> {
        let mut found = Vec::new();
        let registers = self.stateful.registers.iter().zip(&other.stateful.registers);
        for (declared, (mine, others)) in self.program.registers.iter().zip(registers) {
            let index = differing_index(mine.len(), |index| mine.read(index) == others.read(index));
            found.extend(index.map(|index| {
                let (mine, others) = (mine.read(index), others.read(index));
                format!("register `{}`[{index}] is {mine} and {others}", declared.name)
            }));
        }
        let counters = self.stateful.counters.iter().zip(&other.stateful.counters);
        for (declared, (mine, others)) in self.program.counters.iter().zip(counters) {
            let index = differing_index(mine.len(), |index| mine.read(index) == others.read(index));
            found.extend(index.map(|index| {
                let (mine, others) = (mine.read(index), others.read(index));
                format!("counter `{}`[{index}] is {mine:?} and {others:?}", declared.name)
            }));
        }
        let drops = |pipeline: &Pipeline| -> Vec<(DropReason, u64)> {
            let drops = pipeline.drops().nonzero().into_iter();
            drops.filter(|(reason, _)| !elsewhere.contains(reason)).collect()
        };
        let (mine, others) = (drops(self), drops(other));
        if mine != others {
            found.push(format!("packets were dropped for {mine:?} and {others:?}"));
        }
        found
    }
}

fn differing_index(len: usize, mut same: impl FnMut(u64) -> bool) -> Option<u64> {
    (0..len.min(ELEMENTS_MAX) as u64).find(|&index| !same(index))
}
