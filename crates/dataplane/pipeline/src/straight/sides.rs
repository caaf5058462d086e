//! What the blocks of a PSA program do before its queue, and what they do after it.

use super::psa::stage;
use super::{Refusal, assign, intrinsic, jumps, with_actions};
use forebay_arch::psa;
use forebay_ir::{
    Block, BlockId, Body, BodyId, HeaderId, Location, Op, Program, Role, SlotId, Statement, Terminator, Unit, build,
};
use forebay_jit::route::{only_parses, unroll};
use std::collections::BTreeSet;

/// The port that the parser after the queue is told.
pub(super) const EGRESS_PORT: &str = "psa_egress_parser_input_metadata.egress_port";

/// What the blocks before the queue do, and what those after it do.
pub(super) struct Sides {
    read_after: BTreeSet<SlotId>,
    written_before: BTreeSet<SlotId>,
    bodies_after: Vec<BodyId>,
}

impl Sides {
    pub(super) fn of(program: &Program) -> Sides {
        let before = [Role::IngressParser, Role::Ingress, Role::IngressDeparser];
        let behind = [Role::EgressParser, Role::Egress, Role::EgressDeparser];
        let bodies_before = with_actions(program, &before);
        let bodies_after = with_actions(program, &behind);
        let mut read_after = BTreeSet::new();
        for id in &bodies_after {
            read(program, &program.bodies[id.index()], &mut read_after);
        }
        let mut written_before = BTreeSet::new();
        for id in &bodies_before {
            written_before.extend(program.bodies[id.index()].slots_written(program));
        }
        Sides {
            read_after,
            written_before,
            bodies_after,
        }
    }

    /// Assignments of 0 to slots that both sides use and that are not kept across the queue.
    pub(super) fn zeroed(&self, program: &Program, emitted: &[HeaderId]) -> Result<Vec<Statement>, Refusal> {
        let come_along = come_along(program);
        let shared = self.read_after.intersection(&self.written_before);
        let begins: BTreeSet<SlotId> = shared.copied().filter(|slot| !come_along.contains(slot)).collect();
        let mut in_frame = emitted
            .iter()
            .flat_map(|header| program.headers[header.index()].slots());
        if let Some(slot) = in_frame.find(|slot| begins.contains(slot)) {
            let name = &program.slot(slot).name;
            return Err(Refusal::new(
                Location::default(),
                format!("has `{name}` on both sides of the queue"),
            ));
        }
        Ok(begins.into_iter().map(|slot| zero(program, slot)).collect())
    }

    /// The parser after the queue. Loops over header stacks, whose positions are 0 when it begins, are unrolled.
    pub(super) fn parser_without_loops(&self, program: &Program) -> Body {
        let parser = stage(program, Role::EgressParser);
        let come_along = come_along(program);
        let is_zero = |slot: &SlotId| {
            let is_kept = come_along.contains(slot) && self.written_before.contains(slot);
            !is_kept && program.intrinsic.values().all(|other| other != slot)
        };
        let assigned = parser.statements().filter_map(|statement| match &statement.op {
            Op::Assign { slot, .. } => Some(*slot),
            _ => None,
        });
        let begins: BTreeSet<SlotId> = assigned.filter(is_zero).collect();
        let zero = begins.into_iter().map(|slot| zero(program, slot)).collect();
        let mut blocks = vec![jumps(zero, BlockId(1))];
        for block in &parser.blocks {
            let mut block = block.clone();
            for successor in block.terminator.successors_mut() {
                successor.0 += 1;
            }
            blocks.push(block);
        }
        let begun = Body {
            blocks,
            ..parser.clone()
        };
        unroll(program, &begun).unwrap_or_else(|| parser.clone())
    }

    /// Refuses programs that use what only the graph does. `clones` says whether there are clones, which have ports of
    /// their own.
    pub(super) fn refuse_what_differs(&self, program: &Program, clones: bool) -> Result<(), Refusal> {
        let port = intrinsic(program, EGRESS_PORT)?;
        if clones && self.parser_reads(program, port) {
            let location = stage(program, Role::EgressParser).blocks[0].location;
            let text = "begins a parser that reads `egress_port` after the queue, where there are clones";
            return Err(Refusal::new(location, text));
        }
        // It is executed once here, before the queue: not for each copy, and with the random numbers of ingress.
        let mut parsing = stage(program, Role::EgressParser).statements();
        if let Some(statement) = parsing.find(|statement| !only_parses(&statement.op)) {
            let text = "does more than parse in the parser after the queue";
            return Err(Refusal::new(statement.location, text));
        }
        Ok(())
    }

    /// Whether the parser after the queue reads a slot.
    pub(super) fn parser_reads(&self, program: &Program, slot: SlotId) -> bool {
        self.place_of_read(program, slot).is_some()
    }

    /// The first location at which the parser after the queue reads a slot, if it does.
    pub(super) fn place_of_read(&self, program: &Program, slot: SlotId) -> Option<Location> {
        let parser = stage(program, Role::EgressParser);
        parser
            .blocks
            .iter()
            .find_map(|block| place_of_read(program, block, slot))
    }

    /// The location at which bytes are counted after the queue, if they are.
    pub(super) fn counts_bytes(&self, program: &Program) -> Option<Location> {
        let mut bodies = self.bodies_after.iter().map(|id| &program.bodies[id.index()]);
        bodies.find_map(|body| counting_of_bytes(program, body))
    }
}

/// What the packet has from before the queue after it, beside the headers of its frame.
fn come_along(program: &Program) -> BTreeSet<SlotId> {
    let lists = [psa::NORMAL, psa::CLONE_I2E, psa::CLONE_E2E];
    let lists = lists.iter().filter_map(|list| program.field_lists.get(list));
    lists.flatten().copied().collect()
}

/// Sets a slot to 0.
fn zero(program: &Program, slot: SlotId) -> Statement {
    assign(slot, build::constant(program.slot(slot).width, 0))
}

/// Where a body counts or meters bytes, if it does.
fn counting_of_bytes(program: &Program, body: &Body) -> Option<Location> {
    let counts = |statement: &&Statement| match &statement.op {
        Op::Count { counter, .. } => program.counters[counter.index()].unit != Unit::Packets,
        Op::ExecuteMeter { meter, .. } => program.meters[meter.index()].unit != Unit::Packets,
        _ => false,
    };
    body.blocks.iter().find_map(|block| {
        let statement = block.statements.iter().find(counts).map(|statement| statement.location);
        let Terminator::Apply { table, .. } = block.terminator else {
            return statement;
        };
        let table = &program.tables[table.index()];
        let counter = table.direct_counter.map(|id| program.counters[id.index()].unit);
        let meter = table.direct_meter.map(|meter| program.meters[meter.meter.index()].unit);
        let of_table = counter.into_iter().chain(meter).any(|unit| unit != Unit::Packets);
        statement.or(of_table.then_some(block.location))
    })
}

/// The first location at which a block of a parser reads a slot, if it does.
fn place_of_read(program: &Program, block: &Block, slot: SlotId) -> Option<Location> {
    let reads = |statement: &&Statement| {
        let mut is_read = false;
        statement.op.for_each_slot_read(&mut |read| is_read |= read == slot);
        is_read
    };
    let mut decides = false;
    let terminator = &block.terminator;
    terminator.for_each_slot_read(program, &mut |read| decides |= read == slot);
    let statement = block.statements.iter().find(reads).map(|statement| statement.location);
    statement.or(decides.then_some(block.location))
}

/// Adds the slots that a body reads, including keys of its tables and headers that it emits.
fn read(program: &Program, body: &Body, slots: &mut BTreeSet<SlotId>) {
    let of_header = |header: &HeaderId| program.headers[header.index()].slots();
    for block in &body.blocks {
        for statement in &block.statements {
            statement.op.for_each_slot_read(&mut |slot| _ = slots.insert(slot));
            if let Op::Emit { header } = &statement.op {
                slots.extend(of_header(header));
            }
        }
        let terminator = &block.terminator;
        terminator.for_each_slot_read(program, &mut |slot| _ = slots.insert(slot));
    }
}
