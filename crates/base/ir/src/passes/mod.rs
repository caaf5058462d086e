//! Transformations of a program into a smaller one with the same meaning.
//!
//! Each pass is a function from a program that [`crate::verify`] accepts to another that it accepts, which does the same
//! to every packet: the same bytes, drops, counters, registers, digests and log messages. Parser states with a label
//! stay, for people who follow a trace. Each pass returns whether it changed anything.

mod copy_propagation;
mod dead_stores;
mod folding;
mod jumps;
mod merging;
mod unreachable;

pub use copy_propagation::propagate_copies;
pub use dead_stores::remove_dead_stores;
pub use folding::fold_constants;
pub use jumps::thread_jumps;
pub use merging::merge_blocks;
pub use unreachable::remove_unreachable_blocks;

use crate::{Body, Program};

/// One pass makes work for another; after so many rounds little is left to gain.
const MAX_ROUNDS: usize = 8;

/// All passes, until nothing changes.
pub fn optimize(program: &mut Program) {
    remove_unreachable_blocks(program);
    for _ in 0..MAX_ROUNDS {
        let mut changed = propagate_copies(program);
        changed |= fold_constants(program);
        changed |= thread_jumps(program);
        changed |= remove_unreachable_blocks(program);
        changed |= merge_blocks(program);
        changed |= remove_dead_stores(program);
        if !changed {
            return;
        }
    }
}

/// The passes over blocks alone, for a body that is just built: empty blocks, those that nothing leads to and chains of
/// blocks disappear, the rest is put in order.
pub fn tidy(body: &mut Body) {
    jumps::thread_body(body);
    unreachable::remove_from(body);
    merging::merge_body(body);
}
