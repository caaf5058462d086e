//! What a packet may have changed before it leaves the fast path: registers and meters, which cannot be taken back.
//!
//! Most operations that make a packet leave do so where they stand. Those that set a slot of [`Route::copying`] only ask for it: the
//! packet leaves at the decision behind ingress, so changes between the two count as well.

use super::Route;
use super::obstacles::{Deed, Place};
use crate::analysis::action_body;
use forebay_ir::{Body, Location, Program, SlotId, Terminator};
use std::collections::{BTreeMap, BTreeSet};

/// A change, and where it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) location: Location,
    /// "writes register `count`".
    pub(super) words: String,
}

/// The changes that may come before operations which make packets leave their way, and behind those that only ask for it.
pub(super) struct Changes<'p> {
    program: &'p Program,
    /// Slots that the decision behind ingress reads: a packet in which one is set leaves there.
    copying: BTreeSet<SlotId>,
    /// By what makes packets leave: the first change found.
    before: BTreeMap<Key, Change>,
    /// By what sets one of `copying`: the first change between it and the decision.
    behind: BTreeMap<Key, Change>,
}

/// The address of an operation, a terminator or a table of the program, which tells it from all others.
type Key = *const ();

fn key(deed: Deed<'_>) -> Key {
    match deed {
        Deed::Op(op) => std::ptr::from_ref(op).cast(),
        Deed::Ends(terminator) => std::ptr::from_ref(terminator).cast(),
        Deed::Applies(table) => std::ptr::from_ref(table).cast(),
    }
}

/// What may have happened on the ways to a place.
#[derive(Clone, Default)]
struct Past {
    change: Option<Change>,
    /// What may have set one of the slots that the decision behind ingress reads.
    asked: BTreeSet<Key>,
}

impl Past {
    /// Adds what may have happened on another way to the same place, and returns whether that was something new.
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
    /// Of all bodies, one after the other.
    pub(super) fn of(program: &'p Program, route: &Route) -> Changes<'p> {
        let mut changes = Changes {
            program,
            copying: route.copying.iter().copied().collect(),
            before: BTreeMap::new(),
            behind: BTreeMap::new(),
        };
        // What the parser changes is an obstacle of its own.
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

    /// What may have been changed where a packet comes to this.
    pub(super) fn before(&self, deed: Deed<'p>) -> Option<&Change> {
        self.before.get(&key(deed))
    }

    /// What may be changed between this, if it asks for the packet to leave, and the decision behind ingress.
    pub(super) fn behind(&self, deed: Deed<'p>) -> Option<&Change> {
        self.behind.get(&key(deed))
    }

    /// From what may have happened before a body to the same behind it.
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
                self.step(&mut past, statement.location, Deed::Op(&statement.op));
            }
            self.step(&mut past, block.location, Deed::Ends(&block.terminator));
            if let Terminator::Apply { table, .. } = &block.terminator {
                let table = &self.program.tables[table.index()];
                self.step(&mut past, block.location, Deed::Applies(table));
                let before_action = past.clone();
                for listed in &table.actions {
                    let action = &self.program.actions[listed.action.index()];
                    let behind_action = self.body(action_body(self.program, action), before_action.clone());
                    past.join(&behind_action);
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

    /// Goes on behind what a place does.
    fn step(&mut self, past: &mut Past, location: Location, deed: Deed<'p>) {
        let place = Place { location, deed };
        if let Some(change) = &past.change {
            self.before.entry(key(deed)).or_insert_with(|| change.clone());
        }
        if let Some(change) = self.change(location, deed) {
            for asked in &past.asked {
                self.behind.entry(*asked).or_insert_with(|| change.clone());
            }
            past.change.get_or_insert(change);
        }
        if self.copying.iter().any(|slot| place.may_set(self.program, *slot)) {
            past.asked.insert(key(deed));
        }
    }

    fn change(&self, location: Location, deed: Deed<'p>) -> Option<Change> {
        let place = Place { location, deed };
        let words = place.change(self.program).filter(|_| place.changes_state())?;
        Some(Change { location, words })
    }
}
