//! Counts the packets on parser paths that are not covered by the compiled fast path.
//!
//! For a program with many paths through its parser, the fast path covers only as many as its limits allow. Most
//! traffic takes few of them. A worker counts, path by path, the packets that bail out for that reason, and reports
//! the paths that are in use. The fast path is then compiled again: see [`Generations`](crate::generations).

use crate::generations::{ALL_PACKETS, LeftOutPackets, Share};
use forebay_jit::FastPathCode;
use forebay_jit::route::{BailOut, PathId};

/// Packets that bail out before they are reported.
const ENOUGH: u64 = 128;

/// A path is in use if at least one in this many of these packets takes it.
const PART: u64 = 32;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// The [number](FastPathCode::number) of the code.
    code: u64,
    /// By path that is left out: the number of packets.
    packets: Vec<u64>,
    /// The number of packets on all these paths.
    all: u64,
    /// The number of packets on paths of which the code covers only the beginning.
    broken_off: u64,
    /// The number of packets that tried the code.
    tried: u64,
}

impl LeftOut {
    /// Counts a packet that bailed out, on one of the paths that are left out if there is one.
    #[cold]
    pub(super) fn note(&mut self, code: &FastPathCode, reason: BailOut, path: Option<usize>) {
        if path.is_none() && reason != BailOut::TooLarge {
            return;
        }
        if self.code != code.number() || self.packets.len() != code.left_out().len() {
            self.code = code.number();
            self.packets.clear();
            self.packets.resize(code.left_out().len(), 0);
            (self.all, self.broken_off, self.tried) = (0, 0, 0);
        }
        match path.and_then(|path| self.packets.get_mut(path)) {
            Some(packets) => {
                *packets += 1;
                self.all += 1;
            }
            None => self.broken_off += 1,
        }
    }

    /// Counts packets that have tried the code. Returns what is left out of this code, once enough packets have been
    /// counted. Counting then starts again.
    #[inline]
    pub(super) fn report(&mut self, code: &FastPathCode, tried: usize) -> Option<LeftOutPackets> {
        self.tried += tried as u64;
        if self.all < ENOUGH || self.code != code.number() {
            return None;
        }
        Some(self.take(code.left_out()))
    }

    #[cold]
    fn take(&mut self, left_out: &[PathId]) -> LeftOutPackets {
        // Packets that were noted may not have been counted as tried yet.
        let not_covered = self.all + self.broken_off;
        let tried = self.tried.max(not_covered);
        let share = |packets: u64| (packets * ALL_PACKETS / tried) as Share;
        let paths = self.packets.iter().zip(left_out);
        let in_use = paths.filter(|(packets, _)| **packets * PART >= self.all);
        let report = LeftOutPackets {
            code: self.code,
            share: share(not_covered),
            paths: in_use.map(|(packets, path)| (*path, share(*packets))).collect(),
        };
        self.packets.fill(0);
        (self.all, self.broken_off, self.tried) = (0, 0, 0);
        report
    }
}
