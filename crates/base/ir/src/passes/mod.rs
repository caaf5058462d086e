//! Transformations of a program into a smaller one with the same meaning.
//!
//! Each pass maps a program that [`crate::verify`] accepts to another one that it accepts and that does the same to
//! every packet: the same bytes, drops, counters, registers, digests and log messages. Parser states with a label
//! stay, for readers of traces. Each pass returns whether it changed anything.

mod copy_propagation;
mod dead_stores;
mod folding;
mod jumps;
mod merging;
mod unreachable;

pub use copy_propagation::propagate_copies;
pub use dead_stores::remove_dead_stores;
pub use folding::{fold_constants, fold_expr, simplify};
pub use jumps::thread_jumps;
pub use merging::merge_blocks;
pub use unreachable::remove_unreachable_blocks;

use crate::{Body, Program};

/// A pass may enable others. After this many rounds there is little left to gain.
const MAX_ROUNDS: usize = 8;

/// Runs all passes until nothing changes.
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

/// Runs the passes over blocks alone, for a body that was just built: removes empty and unreachable blocks, merges
/// chains of blocks, and puts the rest in order.
pub fn tidy(body: &mut Body) {
    jumps::thread_body(body);
    unreachable::remove_from(body);
    merging::merge_body(body);
}
