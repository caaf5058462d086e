//! Copy propagation within a block: after `a = b` (or `a = 8w0x1`), reads of `a` become reads of `b` (or the
//! constant), until one of them is written.

use crate::{Block, Expr, Op, Program, SlotId};
use std::collections::{BTreeMap, BTreeSet};

/// Replaces reads of copies by reads of their sources. The copies themselves stay; they may now be dead.
pub fn propagate_copies(program: &mut Program) -> bool {
    let mut bodies = std::mem::take(&mut program.bodies);
    let mut changed = false;
    for block in bodies.iter_mut().flat_map(|body| &mut body.blocks) {
        changed |= propagate_in_block(block, program);
    }
    program.bodies = bodies;
    changed
}

fn propagate_in_block(block: &mut Block, program: &Program) -> bool {
    forebay_budget::check();
    let mut copies = Copies::default();
    let mut changed = false;
    for statement in &mut block.statements {
        for expr in statement.op.exprs_mut() {
            changed |= copies.substitute(expr);
        }
        for slot in statement.op.slots_written(program) {
            copies.written(slot);
        }
        if let Op::Assign { slot, value } = &statement.op {
            copies.assigned(*slot, value);
        }
    }
    for expr in block.terminator.exprs_mut() {
        changed |= copies.substitute(expr);
    }
    changed
}

/// What is known about slots at one point of a block.
#[derive(Default)]
struct Copies {
    /// The constant or the slot that a slot is equal to.
    value_of: BTreeMap<SlotId, Expr>,
    /// The slots that are copies of a slot: the inverse, possibly including some that are no longer copies.
    copies_of: BTreeMap<SlotId, BTreeSet<SlotId>>,
}

impl Copies {
    fn assigned(&mut self, slot: SlotId, value: &Expr) {
        match value {
            Expr::Const(_) => {}
            Expr::Slot(source) if *source != slot => {
                self.copies_of.entry(*source).or_default().insert(slot);
            }
            _ => return,
        }
        self.value_of.insert(slot, value.clone());
    }

    fn written(&mut self, slot: SlotId) {
        self.value_of.remove(&slot);
        for copy in self.copies_of.remove(&slot).unwrap_or_default() {
            if self.value_of.get(&copy) == Some(&Expr::Slot(slot)) {
                self.value_of.remove(&copy);
            }
        }
    }

    fn substitute(&self, expr: &mut Expr) -> bool {
        if self.value_of.is_empty() {
            return false;
        }
        if let Expr::Slot(slot) = expr {
            let Some(value) = self.value_of.get(slot) else {
                return false;
            };
            *expr = value.clone();
            return true;
        }
        let mut changed = false;
        expr.for_each_operand_mut(&mut |operand| changed |= self.substitute(operand));
        changed
    }
}
