//! The passes that make specialised code, in their order. Packets get the same bytes without any of them, so each can
//! be left out, to measure it or to find a fault. [`Watch`] is told of all but `tables-once` and `flow-trail`, which are
//! decisions within the translation.

use super::named::named;

named! {
    /// A pass that may be left out. The words say what it does.
    Pass {
        /// `route/unrolling.rs`. Programs with loops have no specialised code without it.
        Unrolling = "unrolling", "loops with a known number of rounds become sequences";
        /// `route/specialise.rs`, with the passes of [`forebay_ir::passes`].
        Folding = "folding", "what is certain after a path through the parser is computed beforehand";
        /// `route/jump_threading.rs`. Without it paths are not separated.
        JumpThreading = "jump-threading", "paths that differ in what is known are separated";
        /// `route/live_sets.rs`. Coalescing needs it.
        DeadStores = "dead-stores", "stores that nothing reads are removed";
        /// `route/coalescing.rs`.
        Coalescing = "coalescing", "a copied header and its source become one";
        /// `route/look_up_hoisting.rs`.
        LookUpHoisting = "look-up-hoisting", "look-ups of later tables are made where packets wait for an earlier one";
        /// `route/loop_invariant_tables.rs`.
        TablesOnce = "tables-once", "tables that are the same for all copies of a packet are applied once";
        /// `flow_trail.rs`.
        FlowTrail = "flow-trail", "the flow cache has the addresses of registers, counters and meters, too";
        /// `wide_stores.rs`.
        WideStores = "wide-stores", "words that are the same in all copies are stored two at a time";
    }
}

/// A set of passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassSet(u16);

impl PassSet {
    /// The empty set.
    pub const NONE: PassSet = PassSet(0);

    /// Whether a pass is in the set.
    pub fn has(self, pass: Pass) -> bool {
        self.0 >> pass as u16 & 1 == 1
    }
}

impl FromIterator<Pass> for PassSet {
    fn from_iter<I: IntoIterator<Item = Pass>>(passes: I) -> PassSet {
        PassSet(passes.into_iter().fold(0, |bits, pass| bits | 1 << pass as u16))
    }
}

/// Is told after each step of compilation which one it was, to measure how long steps take.
pub type Watch<'w> = dyn FnMut(&'static str) + 'w;
