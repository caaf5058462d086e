//! What a packet takes along where it waits for a look-up.
//!
//! On the short way a packet may be laid aside at a look-up, until all packets of its burst have come so far: see
//! [`crate::translate`]. What is in registers then has to be stored, but only slots that are read later, and of these only
//! the ones whose value is not in the packet any more.

use super::Route;
use crate::analysis::action_body;
use forebay_ir::{BlockId, Body, BodyId, IndexSet, Op, Program, SlotId, TableId, Terminator};
use std::collections::HashMap;

/// The slots that matter at a look-up. By number of the slot.
#[derive(Clone, Debug)]
pub(crate) struct Crossing {
    /// Whose value may be read behind it.
    pub(crate) live: IndexSet,
    /// Which may have been written between the parser and it.
    pub(crate) written: IndexSet,
}

/// By the block that applies a table.
pub(crate) type Crossings = HashMap<(BodyId, BlockId), Crossing>;

/// The crossings of the bodies behind the parser.
pub(crate) fn crossings(program: &Program, route: &Route) -> Crossings {
    let none = IndexSet::new(program.slots.len());
    let mut found = Crossings::new();
    let mut live = none.clone();
    for (index, id) in route.bodies().into_iter().enumerate().rev() {
        before_next_body(route, index, &mut live);
        let body = &program.bodies[id.index()];
        let mut solver = Liveness::new(program, body, live.clone(), live);
        solver.solve(body);
        for (block, terminator) in applications(body) {
            let crossing = Crossing {
                live: solver.behind_lookup(terminator),
                written: none.clone(),
            };
            found.insert((id, block), crossing);
        }
        live = solver.at_start.swap_remove(0);
    }
    let mut written = none;
    for (index, id) in route.bodies().into_iter().enumerate() {
        written = writes_until(program, id, written, &mut found);
        written_by_architecture(route, index, &mut written);
    }
    found
}

/// Places of [`Route::bodies`].
const VERIFY_CHECKSUM: usize = 0;
const INGRESS: usize = 1;
const EGRESS: usize = 2;

/// What the architecture reads behind a body, and what it overwrites there.
fn before_next_body(route: &Route, body: usize, live: &mut IndexSet) {
    match body {
        VERIFY_CHECKSUM => route.checksum_error.iter().for_each(|slot| live.remove(slot.index())),
        INGRESS => {
            for (slot, _) in &route.before_egress {
                live.remove(slot.index());
            }
            for slot in route.copying.iter().chain([&route.egress_spec]) {
                live.insert(slot.index());
            }
        }
        EGRESS => live.insert(route.egress_spec.index()),
        _ => {}
    }
}

fn written_by_architecture(route: &Route, body: usize, written: &mut IndexSet) {
    match body {
        VERIFY_CHECKSUM => route
            .checksum_error
            .iter()
            .for_each(|slot| written.insert(slot.index())),
        INGRESS => {
            for (slot, _) in &route.before_egress {
                written.insert(slot.index());
            }
        }
        _ => {}
    }
}

fn applications(body: &Body) -> impl Iterator<Item = (BlockId, &Terminator)> {
    let blocks = body.blocks.iter().zip(0..);
    blocks
        .map(|(block, id)| (BlockId(id), &block.terminator))
        .filter(|(_, terminator)| matches!(terminator, Terminator::Apply { .. }))
}

/// The slots that a lookup writes before an action runs. The colour of a direct meter is not certain.
fn results(hit: &Option<SlotId>, action_run: &Option<SlotId>) -> impl Iterator<Item = SlotId> {
    [*hit, *action_run].into_iter().flatten()
}

fn actions_of(program: &Program, table: TableId) -> impl Iterator<Item = &Body> {
    let listed = program.tables[table.index()].actions.iter();
    listed.map(|listed| action_body(program, &program.actions[listed.action.index()]))
}

/// Which slots are live at the beginning of each block of a body.
struct Liveness<'a> {
    program: &'a Program,
    /// What is live where the body returns.
    at_end: IndexSet,
    /// What is live where it exits its control.
    at_exit: IndexSet,
    at_start: Vec<IndexSet>,
}

impl<'a> Liveness<'a> {
    fn new(program: &'a Program, body: &Body, at_end: IndexSet, at_exit: IndexSet) -> Self {
        Liveness {
            program,
            at_start: vec![IndexSet::new(program.slots.len()); body.blocks.len()],
            at_end,
            at_exit,
        }
    }

    /// Sets only grow, so this ends.
    fn solve(&mut self, body: &Body) {
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
            if !changed {
                return;
            }
        }
    }

    fn before_terminator(&self, terminator: &Terminator) -> IndexSet {
        let mut live = match terminator {
            Terminator::Apply { .. } => self.behind_lookup(terminator),
            _ => self.behind(terminator),
        };
        for expr in terminator.exprs() {
            expr.for_each_slot(&mut |slot| live.insert(slot.index()));
        }
        if let Terminator::Apply { table, .. } = terminator {
            for key in &self.program.tables[table.index()].keys {
                key.expr.for_each_slot(&mut |slot| live.insert(slot.index()));
            }
        }
        live
    }

    /// What is live where control goes from a terminator.
    fn behind(&self, terminator: &Terminator) -> IndexSet {
        match terminator {
            Terminator::Return => return self.at_end.clone(),
            Terminator::Exit => return self.at_exit.clone(),
            _ => {}
        }
        let mut live = IndexSet::new(self.program.slots.len());
        for successor in terminator.successors() {
            live.extend(&self.at_start[successor.index()]);
        }
        live
    }

    /// Between a lookup and its results.
    fn behind_lookup(&self, terminator: &Terminator) -> IndexSet {
        let mut live = self.behind(terminator);
        let Terminator::Apply {
            table, hit, action_run, ..
        } = terminator
        else {
            return live;
        };
        let behind = live.clone();
        for action in actions_of(self.program, *table) {
            let mut inside = Liveness::new(self.program, action, behind.clone(), self.at_exit.clone());
            inside.solve(action);
            live.extend(&inside.at_start[0]);
        }
        results(hit, action_run).for_each(|slot| live.remove(slot.index()));
        live
    }

    /// From what is live after an operation to what is live before it.
    fn step(&self, op: &Op, live: &mut IndexSet) {
        // These may leave their target as it is.
        let certain = !matches!(
            op,
            Op::Random { .. } | Op::ExecuteMeter { .. } | Op::UpdateChecksum { .. }
        );
        if let Some(slot) = op.target().filter(|_| certain) {
            live.remove(slot.index());
        }
        if let Op::Emit { header } = op {
            for slot in self.program.headers[header.index()].slots() {
                live.insert(slot.index());
            }
        }
        op.for_each_slot_read(&mut |slot| live.insert(slot.index()));
    }
}

/// What may have been written behind a body, when `before` may have been before it.
fn writes_until(program: &Program, id: BodyId, before: IndexSet, found: &mut Crossings) -> IndexSet {
    let body = &program.bodies[id.index()];
    let mut at_start = vec![before.clone(); body.blocks.len()];
    let mut at_end = before;
    loop {
        let mut changed = false;
        for (index, block) in body.blocks.iter().enumerate() {
            let mut written = at_start[index].clone();
            for statement in &block.statements {
                let slots = statement.op.slots_written(program);
                slots.iter().for_each(|slot| written.insert(slot.index()));
            }
            if let Terminator::Apply {
                table, hit, action_run, ..
            } = &block.terminator
            {
                if let Some(crossing) = found.get_mut(&(id, BlockId(index as u32))) {
                    crossing.written.extend(&written);
                }
                let color = program.tables[table.index()].direct_meter.and_then(|meter| meter.slot);
                results(hit, action_run)
                    .chain(color)
                    .for_each(|slot| written.insert(slot.index()));
                let statements = actions_of(program, *table).flat_map(|action| &action.blocks);
                for statement in statements.flat_map(|block| &block.statements) {
                    let slots = statement.op.slots_written(program);
                    slots.iter().for_each(|slot| written.insert(slot.index()));
                }
            }
            for successor in block.terminator.successors() {
                let known = at_start[successor.index()].clone();
                at_start[successor.index()].extend(&written);
                changed |= known != at_start[successor.index()];
            }
            at_end.extend(&written);
        }
        if !changed {
            return at_end;
        }
    }
}
