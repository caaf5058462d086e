//! The registers and meters that bodies use.

use forebay_ir::{BodyId, MeterId, Op, Program, RegisterId, Terminator};
use std::collections::BTreeSet;

/// A register or a meter. To execute a meter reads and changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Object {
    Register(RegisterId),
    Meter(MeterId),
}

/// What bodies use, the actions of their tables included.
#[derive(Debug, Default)]
pub(super) struct State {
    read: BTreeSet<Object>,
    changed: BTreeSet<Object>,
}

impl State {
    /// Adds what a body uses.
    pub(super) fn add(&mut self, program: &Program, body: BodyId) {
        for block in &program.bodies[body.index()].blocks {
            for statement in &block.statements {
                self.op(&statement.op);
            }
            if let Terminator::Apply { table, .. } = &block.terminator {
                let meter = program.tables[table.index()].direct_meter;
                self.changed.extend(meter.map(|direct| Object::Meter(direct.meter)));
                for action in program.bodies_of_actions(*table) {
                    self.add(program, action);
                }
            }
        }
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::RegisterRead { register, .. } => _ = self.read.insert(Object::Register(*register)),
            Op::RegisterWrite { register, .. } => _ = self.changed.insert(Object::Register(*register)),
            Op::ExecuteMeter { meter, .. } => _ = self.changed.insert(Object::Meter(*meter)),
            _ => {}
        }
    }

    /// Whether neither changes what the other uses: then it does not matter which is executed first.
    pub(super) fn is_apart_from(&self, other: &State) -> bool {
        let leaves = |one: &State, other: &State| {
            one.changed.is_disjoint(&other.read) && one.changed.is_disjoint(&other.changed)
        };
        leaves(self, other) && leaves(other, self)
    }
}
