//! Whether ingress and egress of a program can see each other through registers or meters.
//!
//! When they cannot, packets that pass through ingress at the same time may be executed together: their effects are
//! seen in the same order as if each were executed at its own time.

use forebay_ir::{BodyId, Op, Program, Role, Terminator};
use std::collections::BTreeSet;

/// A register or a meter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Object {
    Register(u32),
    Meter(u32),
}

/// Whether some register or meter is used in ingress and in egress.
pub(crate) fn ingress_and_egress_share_state(program: &Program) -> bool {
    let is_behind = |role: &Role| {
        matches!(
            role,
            Role::EgressParser | Role::Egress | Role::ComputeChecksum | Role::Deparser | Role::EgressDeparser
        )
    };
    let roles = program.stages.keys().copied();
    let (behind, before): (Vec<Role>, Vec<Role>) = roles.partition(is_behind);
    let (before, behind) = (objects(program, &before), objects(program, &behind));
    !before.is_disjoint(&behind)
}

fn objects(program: &Program, roles: &[Role]) -> BTreeSet<Object> {
    let mut bodies: Vec<BodyId> = roles
        .iter()
        .filter_map(|role| program.stages.get(role).copied())
        .collect();
    let mut found = BTreeSet::new();
    while let Some(body) = bodies.pop() {
        for block in &program.bodies[body.index()].blocks {
            found.extend(block.statements.iter().filter_map(|statement| object(&statement.op)));
            if let Terminator::Apply { table, .. } = &block.terminator {
                bodies.extend(program.bodies_of_actions(*table));
                let meter = &program.tables[table.index()].direct_meter;
                found.extend(meter.as_ref().map(|direct| Object::Meter(direct.meter.0)));
            }
        }
    }
    found
}

fn object(op: &Op) -> Option<Object> {
    match op {
        Op::RegisterRead { register, .. } | Op::RegisterWrite { register, .. } => Some(Object::Register(register.0)),
        Op::ExecuteMeter { meter, .. } => Some(Object::Meter(meter.0)),
        _ => None,
    }
}
