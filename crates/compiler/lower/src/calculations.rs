//! Names of the hashes whose parameters the control plane may set.
//!
//! BMv2 uses the names that p4c gives to calculations, and so do files of BMv2's commands (`set_crc32_parameters
//! calc_0 ...`). p4c numbers all hashes and checksums in this order: those in actions of tables, in program order,
//! before those in statements of the control itself, which it moves into actions of their own; those of ingress before
//! those of egress; those of the checksum controls last.

use crate::context::Context;
use forebay_ir::{Block, BodyId, Calculation, CalculationId, CustomCrc, HashAlgorithm, Location, Op, Program, Role};
use std::collections::{BTreeMap, BTreeSet};

/// The order in which p4c visits the blocks of v1model; those of other architectures follow.
const FIRST: [Role; 4] = [Role::Ingress, Role::Egress, Role::ComputeChecksum, Role::VerifyChecksum];

/// Adds a calculation for an operation that computes a CRC with parameters. It gets its name from [`name`] later.
pub fn add(cx: &mut Context, crc: CustomCrc) -> HashAlgorithm {
    let id = CalculationId(cx.program.calculations.len() as u32);
    let name = String::new();
    cx.program.calculations.push(Calculation { name, crc });
    HashAlgorithm::Custom(id)
}

/// Names the calculations of a program, in p4c's order, and removes those that are not computed.
pub fn name(program: &mut Program) {
    if program.calculations.is_empty() {
        return;
    }
    let mut named = Vec::new();
    let mut places = BTreeMap::new();
    let mut number = 0;
    for body in bodies_in_order(program) {
        let blocks = &program.bodies[body.index()].blocks;
        for algorithm in blocks.iter().flat_map(algorithms) {
            if let HashAlgorithm::Custom(id) = algorithm {
                places.entry(id).or_insert_with(|| {
                    let crc = program.calculations[id.index()].crc;
                    let name = name_of(number);
                    named.push(Calculation { name, crc });
                    CalculationId(named.len() as u32 - 1)
                });
            }
            number += 1;
        }
    }
    program.calculations = named;
    for statement in program.statements_mut() {
        if let Op::Hash { algorithm, .. } | Op::UpdateChecksum { algorithm, .. } | Op::VerifyChecksum { algorithm, .. } =
            &mut statement.op
            && let HashAlgorithm::Custom(id) = algorithm
        {
            *id = places[id];
        }
    }
}

fn name_of(number: u32) -> String {
    match number.checked_sub(1) {
        None => "calc".to_string(),
        Some(number) => format!("calc_{number}"),
    }
}

fn algorithms(block: &Block) -> impl Iterator<Item = HashAlgorithm> + '_ {
    block.statements.iter().filter_map(|statement| match &statement.op {
        Op::Hash { algorithm, .. } | Op::UpdateChecksum { algorithm, .. } | Op::VerifyChecksum { algorithm, .. } => {
            Some(*algorithm)
        }
        _ => None,
    })
}

/// All bodies, each once.
fn bodies_in_order(program: &Program) -> Vec<BodyId> {
    let stage = |role: &Role| program.stages.get(role).copied();
    let others = program.stages.iter().filter(|(role, _)| !FIRST.contains(role));
    let stages = FIRST.iter().filter_map(stage).chain(others.map(|(_, body)| *body));
    let mut order = Vec::new();
    for stage in stages {
        order.extend(actions_of(program, stage));
        order.push(stage);
    }
    order.extend((0..program.bodies.len() as u32).map(BodyId));
    let mut seen = BTreeSet::new();
    order.retain(|body| seen.insert(*body));
    order
}

/// The actions of the tables that a body applies, in program order.
fn actions_of(program: &Program, body: BodyId) -> Vec<BodyId> {
    let tables = program.bodies[body.index()].applied_tables();
    let mut bodies: Vec<BodyId> = tables.flat_map(|table| program.bodies_of_actions(table)).collect();
    bodies.sort_by_key(|body| first_location(program, *body));
    bodies
}

fn first_location(program: &Program, body: BodyId) -> (u32, u32) {
    let mut statements = program.bodies[body.index()].statements();
    let Location { file, line } = statements.next().map(|first| first.location).unwrap_or_default();
    (file, line)
}
