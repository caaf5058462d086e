//! Counts the packets on parser paths that are not covered by the compiled fast path.
//!
//! For a program with many paths through its parser, the fast path covers only as many as its limits allow. Most
//! traffic takes few of them. A worker counts, path by path, the packets that bail out for that reason, and requests
//! the paths that are in use. The fast path is then compiled with these paths preferred: see
//! [`MachineCode`](crate::machine_code::MachineCode).

use forebay_jit::ShortCode;
use forebay_jit::route::PathId;

/// Packets that bail out before their paths are requested.
const ENOUGH: u64 = 128;

/// A path is in use if at least one in this many of these packets takes it.
const PART: u64 = 32;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// The [number](ShortCode::number) of the code.
    code: u64,
    /// By path that is left out: the number of packets.
    packets: Vec<u64>,
    all: u64,
}

impl LeftOut {
    /// Counts a packet on one of the paths that are left out.
    #[cold]
    pub(super) fn note(&mut self, code: &ShortCode, path: usize) {
        if self.code != code.number() || self.packets.len() != code.left_out().len() {
            self.code = code.number();
            self.packets.clear();
            self.packets.resize(code.left_out().len(), 0);
            self.all = 0;
        }
        if let Some(packets) = self.packets.get_mut(path) {
            *packets += 1;
            self.all += 1;
        }
    }

    /// The paths left out of this code that are in use, the most frequent first, once enough packets have been
    /// counted. Counting then starts again.
    #[inline]
    pub(super) fn in_use(&mut self, code: &ShortCode) -> Option<Vec<PathId>> {
        if self.all < ENOUGH || self.code != code.number() {
            return None;
        }
        let paths = self.packets.iter().zip(code.left_out());
        let mut in_use: Vec<(u64, PathId)> = paths
            .filter(|(packets, _)| **packets * PART >= self.all)
            .map(|(packets, path)| (*packets, *path))
            .collect();
        in_use.sort_by_key(|(packets, _)| std::cmp::Reverse(*packets));
        self.packets.fill(0);
        self.all = 0;
        Some(in_use.into_iter().map(|(_, path)| path).collect())
    }
}
