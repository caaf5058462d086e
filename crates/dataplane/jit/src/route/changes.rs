//! What a packet may have changed before it comes to an operation: registers and meters, which cannot be taken back.

use super::Route;
use super::obstacles::{Deed, Place};
use crate::analysis::action_body;
use forebay_ir::{Body, Location, Op, Program, Terminator};
use std::collections::BTreeMap;

/// A change, and where it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) location: Location,
    /// "writes register `count`".
    pub(super) words: String,
}

/// The changes that may come before operations which make packets leave their way.
pub(super) struct Changes<'p> {
    program: &'p Program,
    /// By operation: the first one found.
    before: BTreeMap<*const Op, Change>,
}

impl<'p> Changes<'p> {
    /// Of all bodies behind the parser, one after the other.
    pub(super) fn of(program: &'p Program, route: &Route) -> Changes<'p> {
        let before = BTreeMap::new();
        let mut changes = Changes { program, before };
        let mut state = None;
        for body in route.bodies() {
            state = changes.body(&program.bodies[body.index()], state);
        }
        changes
    }

    /// What may have been changed where a packet comes to an operation.
    pub(super) fn before(&self, op: &Op) -> Option<&Change> {
        self.before.get(&std::ptr::from_ref(op))
    }

    /// From what may have been changed before a body to the same behind it.
    fn body(&mut self, body: &'p Body, before: Option<Change>) -> Option<Change> {
        let mut at_start = vec![None; body.blocks.len()];
        let mut seen = vec![false; body.blocks.len()];
        at_start[0] = before;
        let mut pending = vec![0];
        let mut behind = None;
        while let Some(index) = pending.pop() {
            seen[index] = true;
            let block = &body.blocks[index];
            let mut state: Option<Change> = at_start[index].clone();
            for statement in &block.statements {
                if let Some(change) = &state {
                    let op = std::ptr::from_ref(&statement.op);
                    self.before.entry(op).or_insert_with(|| change.clone());
                }
                state = state.or_else(|| self.change(statement.location, Deed::Op(&statement.op)));
            }
            if let Terminator::Apply { table, .. } = &block.terminator {
                let table = &self.program.tables[table.index()];
                state = state.or_else(|| self.change(block.location, Deed::Applies(table)));
                for listed in &table.actions {
                    let action = &self.program.actions[listed.action.index()];
                    let changed = self.body(action_body(self.program, action), state.clone());
                    state = state.or(changed);
                }
            }
            let successors = block.terminator.successors();
            for next in successors.iter().map(|next| next.index()) {
                let learns = at_start[next].is_none() && state.is_some();
                if learns {
                    at_start[next].clone_from(&state);
                }
                if learns || !seen[next] {
                    pending.push(next);
                }
            }
            if successors.is_empty() || matches!(block.terminator, Terminator::Apply { .. }) {
                behind = behind.or(state);
            }
        }
        behind
    }

    fn change(&self, location: Location, deed: Deed<'p>) -> Option<Change> {
        let place = Place { location, deed };
        let words = place.change(self.program).filter(|_| place.changes_state())?;
        Some(Change { location, words })
    }
}
