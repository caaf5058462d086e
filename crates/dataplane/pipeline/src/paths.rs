//! Counts packets of the fast path by variant, and packets of the slow path by reason.
//!
//! Packets of the fast path are counted once per burst, those of the slow path one by one, which is cheap compared to
//! the path itself. Only arriving packets are counted there, each once. Their further passes are counted by themselves;
//! copies are not counted.

use crate::packet::InstanceType;
use forebay_jit::route::{BailOut, Order};
use std::ops::AddAssign;

/// The variants of the fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastForm {
    /// One packet after another, with a flow cache.
    FlowCache,
    /// One packet after another; every look-up searches its table.
    Straight,
    /// The packets of a burst wait for each other at look-ups.
    Staged,
    /// One verdict for the whole burst, because the program does not read packets.
    WholeBurst,
    /// One packet after another, in code for all paths through the program.
    General,
}

impl FastForm {
    /// All of them.
    pub const ALL: [FastForm; 5] = [
        FastForm::FlowCache,
        FastForm::Straight,
        FastForm::Staged,
        FastForm::WholeBurst,
        FastForm::General,
    ];

    /// The stable name, for JSON.
    pub fn name(self) -> &'static str {
        match self {
            FastForm::FlowCache => "flow_cache",
            FastForm::Straight => "straight",
            FastForm::Staged => "staged",
            FastForm::WholeBurst => "whole_burst",
            FastForm::General => "general",
        }
    }

    /// In words, for example: packets were processed "with the flow cache".
    pub fn words(self) -> &'static str {
        match self {
            FastForm::FlowCache => "with the flow cache",
            FastForm::Straight => "one by one",
            FastForm::Staged => "in stages",
            FastForm::WholeBurst => "by whole bursts",
            FastForm::General => "in general code",
        }
    }
}

impl From<Order> for FastForm {
    fn from(order: Order) -> FastForm {
        match order {
            Order::Cached => FastForm::FlowCache,
            Order::RunToCompletion => FastForm::Straight,
            Order::Staged => FastForm::Staged,
        }
    }
}

/// Why a packet took the slow path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowReason {
    /// The program or the engine has no fast path.
    NoFastPath,
    /// The fast path was not compiled yet.
    Compiling,
    /// Other packets waited in queues or came round again, or a port had no room for the burst.
    Queued,
    /// Every packet's way was logged or captured.
    Traced,
    /// Compiled code left the packet to the slow path.
    BailedOut(BailOut),
}

impl SlowReason {
    /// The number of reasons.
    const COUNT: usize = 4 + BailOut::ALL.len();

    /// All of them, in the order of their indices.
    pub fn all() -> impl Iterator<Item = SlowReason> {
        let fixed = [
            SlowReason::NoFastPath,
            SlowReason::Compiling,
            SlowReason::Queued,
            SlowReason::Traced,
        ];
        fixed
            .into_iter()
            .chain(BailOut::ALL.iter().copied().map(SlowReason::BailedOut))
    }

    fn index(self) -> usize {
        match self {
            SlowReason::NoFastPath => 0,
            SlowReason::Compiling => 1,
            SlowReason::Queued => 2,
            SlowReason::Traced => 3,
            SlowReason::BailedOut(reason) => 4 + reason as usize,
        }
    }

    /// The stable name, for JSON.
    pub fn name(self) -> &'static str {
        match self {
            SlowReason::NoFastPath => "no_fast_path",
            SlowReason::Compiling => "compiling",
            SlowReason::Queued => "queued",
            SlowReason::Traced => "traced",
            SlowReason::BailedOut(reason) => reason.name(),
        }
    }

    /// In words, for example: packets were "cloned".
    pub fn words(self) -> &'static str {
        match self {
            SlowReason::NoFastPath => "of a program without a fast path",
            SlowReason::Compiling => "before the fast path was compiled",
            SlowReason::Queued => "while packets waited in queues",
            SlowReason::Traced => "while a log or capture of all packets was written",
            SlowReason::BailedOut(reason) => reason.words(),
        }
    }
}

/// Passes through ingress after a packet's first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FurtherPasses {
    /// Passes of resubmitted packets.
    pub resubmitted: u64,
    /// Passes of recirculated packets.
    pub recirculated: u64,
    /// Passes of both that took the fast path; the others took the slow path.
    pub fast: u64,
}

impl FurtherPasses {
    /// Counts a pass of a packet of this type, if it is not the first one.
    #[inline]
    pub(crate) fn count(&mut self, instance_type: InstanceType) {
        match instance_type {
            InstanceType::Resubmitted => self.resubmitted += 1,
            InstanceType::Recirculated => self.recirculated += 1,
            _ => {}
        }
    }

    /// Both kinds.
    pub fn total(self) -> u64 {
        self.resubmitted + self.recirculated
    }
}

/// Numbers of packets by the path that they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounters {
    fast: [u64; FastForm::ALL.len()],
    slow: [u64; SlowReason::COUNT],
    /// Look-ups that did not find their key in the flow cache.
    pub flow_misses: u64,
    /// Passes after the first one.
    pub further_passes: FurtherPasses,
}

impl PathCounters {
    /// Packets of the fast path, by variant.
    pub fn fast(&self) -> impl Iterator<Item = (FastForm, u64)> {
        FastForm::ALL.into_iter().zip(self.fast)
    }

    /// Packets of the slow path, by reason.
    pub fn slow(&self) -> impl Iterator<Item = (SlowReason, u64)> {
        SlowReason::all().zip(self.slow)
    }

    /// Packets of the fast path, over all variants.
    pub fn fast_total(&self) -> u64 {
        self.fast.iter().sum()
    }

    /// Packets of the slow path, over all reasons.
    pub fn slow_total(&self) -> u64 {
        self.slow.iter().sum()
    }

    /// What was counted after these earlier counters were read.
    #[must_use]
    pub fn since(mut self, earlier: &PathCounters) -> PathCounters {
        let subtract =
            |own: &mut [u64], before: &[u64]| own.iter_mut().zip(before).for_each(|(own, before)| *own -= before);
        subtract(&mut self.fast, &earlier.fast);
        subtract(&mut self.slow, &earlier.slow);
        self.flow_misses -= earlier.flow_misses;
        self.further_passes.resubmitted -= earlier.further_passes.resubmitted;
        self.further_passes.recirculated -= earlier.further_passes.recirculated;
        self.further_passes.fast -= earlier.further_passes.fast;
        self
    }

    /// Counts packets of the fast path.
    #[inline]
    pub(crate) fn count_fast(&mut self, form: FastForm, packets: u64) {
        self.fast[form as usize] += packets;
    }

    /// Counts packets of the slow path.
    pub(crate) fn count_slow(&mut self, reason: SlowReason, packets: u64) {
        self.slow[reason.index()] += packets;
    }
}

impl AddAssign for PathCounters {
    /// Adds the counters of another worker or of another program.
    fn add_assign(&mut self, other: PathCounters) {
        let sum = |own: &mut [u64], others: &[u64]| own.iter_mut().zip(others).for_each(|(own, other)| *own += other);
        sum(&mut self.fast, &other.fast);
        sum(&mut self.slow, &other.slow);
        self.flow_misses += other.flow_misses;
        self.further_passes.resubmitted += other.further_passes.resubmitted;
        self.further_passes.recirculated += other.further_passes.recirculated;
        self.further_passes.fast += other.further_passes.fast;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_place_and_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = SlowReason::all().map(SlowReason::name).collect();
        assert_eq!(names.len(), SlowReason::COUNT);
        assert!(SlowReason::all().map(SlowReason::index).eq(0..SlowReason::COUNT));
    }

    #[test]
    fn counters_add_up() {
        let mut counters = PathCounters::default();
        counters.count_fast(FastForm::Staged, 3);
        counters.count_slow(SlowReason::BailedOut(BailOut::Digest), 2);
        counters.further_passes.count(InstanceType::Recirculated);
        counters.further_passes.count(InstanceType::Normal);
        counters += counters;
        assert_eq!(counters.fast().map(|(_, packets)| packets).sum::<u64>(), 6);
        assert_eq!(
            (counters.further_passes.recirculated, counters.further_passes.total()),
            (2, 2)
        );
        assert!(
            counters
                .slow()
                .any(|slow| slow == (SlowReason::BailedOut(BailOut::Digest), 4))
        );
    }
}
