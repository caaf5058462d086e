//! Removes stores to slots that are not read.
//!
//! Only slots of kind [`SlotKind::Local`] can be dead as a whole: the architecture or the next control sees all
//! others. A local slot belongs to one body when only that body, or the key of a table that only it applies, names the
//! slot. For such slots liveness is computed along the control flow. A local slot that several bodies name is dead
//! when none of them reads it.
//!
//! A body may run more than once for a packet (a table can be applied in two places, so an action can run twice), and
//! a local slot is not cleared in between. Hence what is live at the entry of a body is live at its end.
//!
//! In addition, a store to any slot is dead when the same block stores to it again, and nothing in between reads the
//! slot or may end the body: `setValid()` sets all fields of a header, and the program then sets them again.

use crate::{Block, Body, BodyId, IndexSet, Op, Program, SlotId, SlotKind, Statement, Table, Terminator};
use std::collections::{BTreeMap, BTreeSet};

/// Removes assignments to local slots whose value is never used, and other operations that only compute such a value.
/// Operations that can fail (`lookahead`) or have other effects (random numbers, meters) stay.
pub fn remove_dead_stores(program: &mut Program) -> bool {
    let uses = Uses::of(program);
    let mut bodies = std::mem::take(&mut program.bodies);
    let mut changed = false;
    for (index, body) in bodies.iter_mut().enumerate() {
        forebay_budget::check();
        changed |= remove_unread(body, &uses);
        changed |= remove_overwritten(body);
        changed |= Liveness::new(BodyId(index as u32), program, &uses).remove_from(body);
    }
    program.bodies = bodies;
    changed
}

/// The bodies that name a slot.
#[derive(Clone, Copy, PartialEq)]
enum User {
    None,
    One(BodyId),
    Several,
}

/// For each slot, the bodies that name it, and whether it is read.
struct Uses {
    user: Vec<User>,
    read: Vec<bool>,
}

impl Uses {
    fn of(program: &Program) -> Uses {
        let slots = program.slots.len();
        let mut uses = Uses {
            user: vec![User::None; slots],
            read: vec![false; slots],
        };
        for (index, slot) in program.slots.iter().enumerate() {
            if slot.kind != SlotKind::Local {
                uses.outside(SlotId(index as u32));
            }
        }
        for slot in program.intrinsic.values().chain(program.field_lists.values().flatten()) {
            uses.outside(*slot);
        }
        for slot in program.tables.iter().filter_map(Table::color_slot) {
            uses.user[slot.index()] = User::Several;
        }
        for (index, body) in program.bodies.iter().enumerate() {
            for block in &body.blocks {
                uses.block(block, BodyId(index as u32), program);
            }
        }
        uses
    }

    /// Records a slot that is read outside of bodies.
    fn outside(&mut self, slot: SlotId) {
        self.user[slot.index()] = User::Several;
        self.read[slot.index()] = true;
    }

    fn block(&mut self, block: &Block, body: BodyId, program: &Program) {
        for statement in &block.statements {
            statement.op.for_each_slot_read(&mut |slot| self.read(slot, body));
            statement.op.target().iter().for_each(|slot| self.named(*slot, body));
        }
        block
            .terminator
            .for_each_slot_read(program, &mut |slot| self.read(slot, body));
        block.terminator.results().for_each(|slot| self.named(slot, body));
    }

    fn read(&mut self, slot: SlotId, body: BodyId) {
        self.read[slot.index()] = true;
        self.named(slot, body);
    }

    fn named(&mut self, slot: SlotId, body: BodyId) {
        let user = &mut self.user[slot.index()];
        *user = match *user {
            User::None => User::One(body),
            User::One(other) if other == body => User::One(body),
            User::One(_) | User::Several => User::Several,
        };
    }
}

/// Removes stores to slots that are never read.
fn remove_unread(body: &mut Body, uses: &Uses) -> bool {
    let mut changed = false;
    for block in &mut body.blocks {
        let before = block.statements.len();
        block.statements.retain(|statement| {
            let unread = statement.op.target().is_some_and(|slot| !uses.read[slot.index()]);
            !(unread && statement.op.only_writes())
        });
        changed |= block.statements.len() != before;
    }
    changed
}

/// Removes stores that the same block overwrites before they can be read.
fn remove_overwritten(body: &mut Body) -> bool {
    let mut changed = false;
    for block in &mut body.blocks {
        let before = block.statements.len();
        let mut overwritten = BTreeSet::new();
        let mut kept: Vec<Statement> = Vec::with_capacity(before);
        for statement in std::mem::take(&mut block.statements).into_iter().rev() {
            let is_dead = statement.op.target().is_some_and(|slot| overwritten.contains(&slot));
            if is_dead && statement.op.only_writes() {
                continue;
            }
            pass_backwards(&statement.op, &mut overwritten);
            kept.push(statement);
        }
        kept.reverse();
        changed |= kept.len() != before;
        block.statements = kept;
    }
    changed
}

/// Updates the overwritten slots from after an operation to before it.
fn pass_backwards(op: &Op, overwritten: &mut BTreeSet<SlotId>) {
    match op {
        // The body may end here, or fields may be read.
        Op::Extract { .. }
        | Op::Advance { .. }
        | Op::Lookahead { .. }
        | Op::Emit { .. }
        | Op::Assert { .. }
        | Op::Assume { .. } => overwritten.clear(),
        _ if op.only_writes() => overwritten.extend(op.target()),
        _ => {}
    }
    op.for_each_slot_read(&mut |slot| {
        overwritten.remove(&slot);
    });
}

/// The liveness of a body's own local slots.
struct Liveness<'a> {
    program: &'a Program,
    /// Dense numbers of the body's own slots.
    numbers: BTreeMap<SlotId, usize>,
    /// The slots live at the end of the body: those live at its entry.
    at_end: IndexSet,
    /// The slots live at the beginning of each block.
    at_start: Vec<IndexSet>,
}

impl<'a> Liveness<'a> {
    fn new(body: BodyId, program: &'a Program, uses: &Uses) -> Self {
        let own = (0..program.slots.len() as u32)
            .map(SlotId)
            .filter(|slot| uses.user[slot.index()] == User::One(body));
        let numbers: BTreeMap<SlotId, usize> = own.enumerate().map(|(number, slot)| (slot, number)).collect();
        let at_end = IndexSet::new(numbers.len());
        Liveness {
            program,
            numbers,
            at_end,
            at_start: Vec::new(),
        }
    }

    fn remove_from(mut self, body: &mut Body) -> bool {
        if self.numbers.is_empty() || body.blocks.is_empty() {
            return false;
        }
        self.solve(body);
        let mut changed = false;
        for block in &mut body.blocks {
            changed |= self.remove_from_block(block);
        }
        changed
    }

    /// This ends because the sets only grow.
    fn solve(&mut self, body: &Body) {
        self.at_start = vec![self.at_end.clone(); body.blocks.len()];
        loop {
            let mut changed = false;
            for (index, block) in body.blocks.iter().enumerate().rev() {
                let mut live = self.before_terminator(&block.terminator);
                for statement in block.statements.iter().rev() {
                    self.step(&statement.op, &mut live);
                }
                changed |= live != self.at_start[index];
                self.at_start[index] = live;
            }
            if !changed && self.at_end == self.at_start[0] {
                return;
            }
            let entry = self.at_start[0].clone();
            self.at_end.extend(&entry);
        }
    }

    fn after_terminator(&self, terminator: &Terminator) -> IndexSet {
        let mut live = self.at_end.clone();
        let successors = terminator.successors();
        // An action that exits leads to `at_end`, like the end of the body; otherwise only successors count.
        if !successors.is_empty() && !matches!(terminator, Terminator::Apply { .. }) {
            live.clear();
        }
        for successor in successors {
            live.extend(&self.at_start[successor.index()]);
        }
        live
    }

    fn before_terminator(&self, terminator: &Terminator) -> IndexSet {
        let mut live = self.after_terminator(terminator);
        terminator.results().for_each(|slot| self.kill(slot, &mut live));
        terminator.for_each_slot_read(self.program, &mut |slot| self.make_live(slot, &mut live));
        live
    }

    /// Updates the live slots from after an operation to before it.
    fn step(&self, op: &Op, live: &mut IndexSet) {
        if let Some(slot) = op.certain_target() {
            self.kill(slot, live);
        }
        if matches!(op, Op::Extract { .. } | Op::Advance { .. } | Op::Lookahead { .. }) {
            // The parser may end here, before anything is written.
            live.extend(&self.at_end);
        }
        op.for_each_slot_read(&mut |slot| self.make_live(slot, live));
    }

    fn remove_from_block(&self, block: &mut Block) -> bool {
        let mut changed = self.forget_results(&mut block.terminator);
        let mut live = self.before_terminator(&block.terminator);
        let mut keep = vec![true; block.statements.len()];
        for (index, statement) in block.statements.iter().enumerate().rev() {
            let dead = statement.op.target().is_some_and(|slot| self.is_dead(slot, &live));
            if dead && statement.op.only_writes() {
                keep[index] = false;
                changed = true;
            } else {
                self.step(&statement.op, &mut live);
            }
        }
        let mut keep = keep.into_iter();
        block
            .statements
            .retain(|_| keep.next().expect("there is a mark for each statement"));
        changed
    }

    /// Removes a table's results that are not read.
    fn forget_results(&self, terminator: &mut Terminator) -> bool {
        let live = self.after_terminator(terminator);
        let Terminator::Apply { hit, action_run, .. } = terminator else {
            return false;
        };
        let mut changed = false;
        for result in [hit, action_run] {
            if result.is_some_and(|slot| self.is_dead(slot, &live)) {
                *result = None;
                changed = true;
            }
        }
        changed
    }

    fn is_dead(&self, slot: SlotId, live: &IndexSet) -> bool {
        self.numbers.get(&slot).is_some_and(|number| !live.contains(*number))
    }

    fn make_live(&self, slot: SlotId, live: &mut IndexSet) {
        if let Some(number) = self.numbers.get(&slot) {
            live.insert(*number);
        }
    }

    fn kill(&self, slot: SlotId, live: &mut IndexSet) {
        if let Some(number) = self.numbers.get(&slot) {
            live.remove(*number);
        }
    }
}
