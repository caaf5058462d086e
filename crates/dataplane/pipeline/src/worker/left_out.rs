//! Which ways through the parser packets take that the fast path has been compiled without.
//!
//! Of a program with many ways there are only as many in the fast path as its limits allow. Most traffic takes few of them: a worker
//! counts, way by way, the packets that bail out for that reason, and asks for the ways that are in use. The fast path is then
//! compiled with these first: see [`MachineCode`](crate::machine_code::MachineCode).

use forebay_jit::ShortCode;
use forebay_jit::route::WayId;

/// Packets that bail out before the ways that they take are asked for.
const ENOUGH: u64 = 128;

/// A way is in use that one of so many of these packets takes.
const PART: u64 = 32;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// The [number](ShortCode::number) of the code.
    code: u64,
    /// By way that is left out of it: packets.
    packets: Vec<u64>,
    all: u64,
}

impl LeftOut {
    /// A packet was on one of the ways that are left out.
    #[cold]
    pub(super) fn note(&mut self, code: &ShortCode, way: usize) {
        if self.code != code.number() || self.packets.len() != code.left_out().len() {
            self.code = code.number();
            self.packets.clear();
            self.packets.resize(code.left_out().len(), 0);
            self.all = 0;
        }
        if let Some(packets) = self.packets.get_mut(way) {
            *packets += 1;
            self.all += 1;
        }
    }

    /// The ways of this code that are in use, those that most packets take first, when enough packets have been counted: then counting
    /// begins again.
    #[inline]
    pub(super) fn in_use(&mut self, code: &ShortCode) -> Option<Vec<WayId>> {
        if self.all < ENOUGH || self.code != code.number() {
            return None;
        }
        let ways = self.packets.iter().zip(code.left_out());
        let mut in_use: Vec<(u64, WayId)> = ways
            .filter(|(packets, _)| **packets * PART >= self.all)
            .map(|(packets, way)| (*packets, *way))
            .collect();
        in_use.sort_by_key(|(packets, _)| std::cmp::Reverse(*packets));
        self.packets.fill(0);
        self.all = 0;
        Some(in_use.into_iter().map(|(_, way)| way).collect())
    }
}
