//! What a program requires of a chip's parsers.

use super::cycles::{Costs, with_actions};
use super::tree::ParseTree;
use crate::spec::ChipSpec;
use forebay_ir::{Body, HeaderId, Program, Role, SlotId, SlotKind, Terminator};
use std::collections::BTreeSet;

/// What a program requires of a chip's parsers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParserNeeds {
    /// Rows of a parser's TCAM: one for each case of a select and for its default, one for each state without a select.
    pub tcam_rows: u32,
    /// Bytes of a packet that the egress parser reads: up to the last header that egress uses. What is after it stays
    /// payload.
    pub egress_bytes: u32,
}

impl ParserNeeds {
    /// The needs of a program on a chip.
    pub fn of(spec: &ChipSpec, program: &Program) -> ParserNeeds {
        let ingress = ingress_parser(program);
        let egress = program.stage(Role::EgressParser).or(ingress);
        let rows = [ingress, egress].into_iter().flatten().map(rows);
        ParserNeeds {
            tcam_rows: rows.max().unwrap_or(0),
            egress_bytes: egress.map_or(0, |body| egress_bytes(spec, program, body)),
        }
    }
}

/// The parser before ingress, whatever the architecture calls it.
pub(crate) fn ingress_parser(program: &Program) -> Option<&Body> {
    let parsers = [Role::Parser, Role::IngressParser, Role::MainParser];
    parsers.into_iter().find_map(|role| program.stage(role))
}

fn rows(parser: &Body) -> u32 {
    let of_block = parser.blocks.iter().map(|block| match &block.terminator {
        Terminator::Select { cases, .. } => cases.len() as u32 + 1,
        _ => u32::from(block.label.is_some()),
    });
    of_block.sum()
}

fn egress_bytes(spec: &ChipSpec, program: &Program, parser: &Body) -> u32 {
    let costs = Costs::new(program, &spec.parser, Role::Egress);
    let used = headers_used(program, &[Role::Egress, Role::ComputeChecksum]);
    ParseTree::new(program, parser, &costs, 0).bytes_up_to_last(&used)
}

/// Headers that these bodies read, write, or make valid or invalid.
fn headers_used(program: &Program, roles: &[Role]) -> BTreeSet<HeaderId> {
    let mut used = BTreeSet::new();
    let mut see = |slot: SlotId| match program.slot(slot).kind {
        SlotKind::Field(header) | SlotKind::Valid(header) | SlotKind::VarbitLength(header) => {
            used.insert(header);
        }
        _ => {}
    };
    let stages = roles.iter().filter_map(|role| program.stage(*role));
    for block in stages
        .flat_map(|body| with_actions(program, body))
        .flat_map(|body| &body.blocks)
    {
        for statement in &block.statements {
            statement.op.for_each_slot_read(&mut see);
            statement.op.target().into_iter().for_each(&mut see);
        }
        block.terminator.for_each_slot_read(program, &mut see);
    }
    used
}
