//! Which headers may be valid together behind egress.
//!
//! A walk over the blocks of bodies with the headers that are valid there; conditions are not looked at.

use forebay_ir::{BlockId, BodyId, Expr, HeaderId, Op, Program, SlotId, SlotKind, Terminator};
use std::collections::BTreeSet;

/// Headers that are valid together.
pub(super) type Valid = BTreeSet<HeaderId>;

/// Blocks, each with the headers that are valid at its beginning, that are looked at, at most.
const VISITS_MAX: usize = 10_000;

/// Sets of headers at most.
const SETS_MAX: usize = 256;

/// Behind bodies that are executed one after the other, when no header is valid before; nothing when there are too many ways.
pub(super) fn behind(program: &Program, bodies: &[BodyId]) -> Option<BTreeSet<Valid>> {
    let mut walk = Walk {
        program,
        visits_left: VISITS_MAX,
    };
    let mut sets = BTreeSet::from([Valid::new()]);
    for body in bodies {
        let [returned, exited] = walk.body(*body, sets)?;
        sets = &returned | &exited;
    }
    (sets.len() <= SETS_MAX).then_some(sets)
}

struct Walk<'a> {
    program: &'a Program,
    visits_left: usize,
}

impl Walk<'_> {
    /// Where a body returns, and where it exits.
    fn body(&mut self, body: BodyId, before: BTreeSet<Valid>) -> Option<[BTreeSet<Valid>; 2]> {
        let blocks = &self.program.bodies[body.index()].blocks;
        let mut seen = BTreeSet::new();
        let mut pending: Vec<(BlockId, Valid)> = before.into_iter().map(|valid| (BlockId(0), valid)).collect();
        let [mut returned, mut exited] = [BTreeSet::new(), BTreeSet::new()];
        while let Some((id, mut valid)) = pending.pop() {
            if !seen.insert((id, valid.clone())) {
                continue;
            }
            self.visits_left = self.visits_left.checked_sub(1)?;
            let block = &blocks[id.index()];
            for statement in &block.statements {
                self.op(&statement.op, &mut valid);
            }
            match &block.terminator {
                Terminator::Return => _ = returned.insert(valid),
                Terminator::Exit => _ = exited.insert(valid),
                Terminator::Apply { table, next, .. } => {
                    let actions = &self.program.tables[table.index()].actions;
                    for listed in actions {
                        let action = &self.program.actions[listed.action.index()];
                        let [done, left] = self.body(action.body, BTreeSet::from([valid.clone()]))?;
                        pending.extend(done.into_iter().map(|valid| (*next, valid)));
                        exited.extend(left);
                    }
                }
                terminator => {
                    let successors = terminator.successors().into_iter();
                    pending.extend(successors.map(|next| (next, valid.clone())));
                }
            }
        }
        Some([returned, exited])
    }

    fn op(&self, op: &Op, valid: &mut Valid) {
        let header = |slot: SlotId| match self.program.slot(slot).kind {
            SlotKind::Valid(header) => Some(header),
            _ => None,
        };
        match op {
            Op::Extract { header, .. } => _ = valid.insert(*header),
            Op::Assign { slot, value } => {
                let Some(target) = header(*slot) else { return };
                let is_valid = match value {
                    Expr::Const(value) => !value.is_zero(),
                    Expr::Slot(other) => header(*other).is_some_and(|other| valid.contains(&other)),
                    _ => true,
                };
                if is_valid {
                    valid.insert(target);
                } else {
                    valid.remove(&target);
                }
            }
            _ => {}
        }
    }
}
