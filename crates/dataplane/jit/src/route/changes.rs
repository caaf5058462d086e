//! Changes that packets may have made before they leave the fast path: to registers and meters. They cannot be taken
//! back.
//!
//! Most operations that make a packet leave the fast path do so at once. Those that set a slot of [`Route::requests`]
//! only request it: the packet leaves at the decision after ingress, so changes between the two count as well.

use super::Route;
use super::obstacles::{Operation, Place};
use forebay_ir::{Body, Location, Program, SlotId, Terminator};
use std::collections::{BTreeMap, BTreeSet};

/// A change, and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) location: Location,
    /// For example "writes register `count`".
    pub(super) words: String,
}

/// The changes that may come before operations that make packets leave, and after operations that only request it.
pub(super) struct Changes<'p> {
    program: &'p Program,
    /// Slots that the decision after ingress reads: a packet in which one is set leaves there.
    requested: BTreeSet<SlotId>,
    /// By what makes packets leave: the first change found before it.
    before: BTreeMap<Key, Change>,
    /// By what sets one of `requested`: the first change between it and the decision.
    behind: BTreeMap<Key, Change>,
}

/// The address of an operation, a terminator or a table of the program, which identifies it.
type Key = *const ();

fn key(operation: Operation<'_>) -> Key {
    match operation {
        Operation::Op(op) => std::ptr::from_ref(op).cast(),
        Operation::Ends(terminator) => std::ptr::from_ref(terminator).cast(),
        Operation::Applies(table) => std::ptr::from_ref(table).cast(),
    }
}

/// What may have happened on the paths to a position.
#[derive(Clone, Default)]
struct Past {
    change: Option<Change>,
    /// What may have set one of the slots that the decision after ingress reads.
    asked: BTreeSet<Key>,
}

impl Past {
    /// Adds what may have happened on another path to the same position. Returns whether that added anything.
    fn join(&mut self, other: &Past) -> bool {
        let learns = self.change.is_none() && other.change.is_some();
        if learns {
            self.change.clone_from(&other.change);
        }
        let asked = self.asked.len();
        self.asked.extend(&other.asked);
        learns || self.asked.len() > asked
    }
}

impl<'p> Changes<'p> {
    /// Analyses all bodies in sequence.
    pub(super) fn of(program: &'p Program, route: &Route) -> Changes<'p> {
        let mut changes = Changes {
            program,
            requested: route.requested().collect(),
            before: BTreeMap::new(),
            behind: BTreeMap::new(),
        };
        // Changes in the parser are a separate obstacle.
        let parser = changes.body(&program.bodies[route.parser.index()], Past::default());
        let mut past = Past { change: None, ..parser };
        for body in route.bodies() {
            past = changes.body(&program.bodies[body.index()], past);
            if body == route.ingress {
                past.asked.clear();
            }
        }
        changes
    }

    /// A change that may have been made before a packet reaches this operation.
    pub(super) fn before(&self, operation: Operation<'p>) -> Option<&Change> {
        self.before.get(&key(operation))
    }

    /// A change that may be made between this operation, if it requests that the packet leave, and the decision after
    /// ingress.
    pub(super) fn behind(&self, operation: Operation<'p>) -> Option<&Change> {
        self.behind.get(&key(operation))
    }

    /// Computes what may have happened at the end of a body from what may have happened before it.
    fn body(&mut self, body: &'p Body, before: Past) -> Past {
        let mut at_start = vec![Past::default(); body.blocks.len()];
        let mut seen = vec![false; body.blocks.len()];
        at_start[0] = before;
        let mut pending = vec![0];
        let mut behind = Past::default();
        while let Some(index) = pending.pop() {
            seen[index] = true;
            let block = &body.blocks[index];
            let mut past = at_start[index].clone();
            for statement in &block.statements {
                self.step(&mut past, statement.location, Operation::Op(&statement.op));
            }
            self.step(&mut past, block.location, Operation::Ends(&block.terminator));
            if let Terminator::Apply { table, .. } = &block.terminator {
                let applied = &self.program.tables[table.index()];
                self.step(&mut past, block.location, Operation::Applies(applied));
                let before_action = past.clone();
                for action in self.program.actions_of(*table) {
                    let after_action = self.body(action, before_action.clone());
                    past.join(&after_action);
                }
            }
            let successors = block.terminator.successors();
            for next in successors.iter().map(|next| next.index()) {
                if at_start[next].join(&past) || !seen[next] {
                    pending.push(next);
                }
            }
            if successors.is_empty() || matches!(block.terminator, Terminator::Apply { .. }) {
                behind.join(&past);
            }
        }
        behind
    }

    /// Applies one operation, terminator or table to what may have happened.
    fn step(&mut self, past: &mut Past, location: Location, operation: Operation<'p>) {
        let place = Place { location, operation };
        if let Some(change) = &past.change {
            self.before.entry(key(operation)).or_insert_with(|| change.clone());
        }
        if let Some(change) = self.change(location, operation) {
            for asked in &past.asked {
                self.behind.entry(*asked).or_insert_with(|| change.clone());
            }
            past.change.get_or_insert(change);
        }
        if self.requested.iter().any(|slot| place.may_set(self.program, *slot)) {
            past.asked.insert(key(operation));
        }
    }

    fn change(&self, location: Location, operation: Operation<'p>) -> Option<Change> {
        let place = Place { location, operation };
        let words = place.change(self.program).filter(|_| place.changes_state())?;
        Some(Change { location, words })
    }
}
