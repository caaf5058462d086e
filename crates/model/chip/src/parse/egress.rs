//! The states of the egress parser.
//!
//! It reads a packet as ingress has left it. v1model has no parser there, so the chip's compiler makes one from that of
//! ingress. Its cost is that of the path through the ingress parser with the same bytes of headers. Headers that
//! ingress adds, and that are on no such path, count as words.

use super::cycles::Costs;
use super::tree::{ParseTree, Parsed};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct EgressStates {
    /// Parts of cycles by bytes of headers.
    parts: Vec<u32>,
    costs: Costs,
}

impl EgressStates {
    pub(crate) fn new(tree: &ParseTree, costs: Costs) -> EgressStates {
        let longest = tree.ends().map(|end| end.header_bytes).max().unwrap_or(0);
        let parts = (0..=longest).map(|bytes| of_bytes(tree, bytes, &costs)).collect();
        EgressStates { parts, costs }
    }

    /// The parts of cycles for `header_bytes` bytes of headers.
    #[inline]
    pub(crate) fn parts(&self, header_bytes: u32) -> u32 {
        match self.parts.get(header_bytes as usize) {
            Some(parts) => *parts,
            None => self.beyond(header_bytes),
        }
    }

    #[cold]
    fn beyond(&self, header_bytes: u32) -> u32 {
        let longest = self.parts.len() as u32 - 1;
        self.parts[longest as usize] + self.costs.more_words(header_bytes - longest)
    }
}

/// The way that has these bytes of headers, or the nearest one with fewer and the rest as words.
fn of_bytes(tree: &ParseTree, bytes: u32, costs: &Costs) -> u32 {
    let fewer = tree.ends().filter(|end| end.header_bytes <= bytes);
    let nearest = fewer.max_by_key(|end| (end.header_bytes, end.parts));
    let nearest = nearest.unwrap_or(Parsed::default());
    nearest.parts + costs.more_words(bytes - nearest.header_bytes)
}
