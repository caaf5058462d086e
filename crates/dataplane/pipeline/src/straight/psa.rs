//! The straight way of a PSA program.

use super::deparsed::Deparsed;
use super::reparse::Reparse;
use super::{Refusal, Straight, append, assign, block, intrinsic, new_body, new_slot, with_actions};
use forebay_arch::psa;
use forebay_bits::Bits;
use forebay_ir::{
    Block, BlockId, Body, BodyId, BodyKind, Expr, HeaderId, Location, Op, Program, Role, SlotId, Statement, Terminator,
    Unit, build,
};
use forebay_jit::route::{Argument, DropWhen, Replication, Route, Source};
use std::collections::BTreeSet;

/// Members of `PSA_PacketPath_t`.
const NORMAL_UNICAST: u64 = 1;
const NORMAL_MULTICAST: u64 = 2;

/// The fields of the intrinsic metadata that the architecture reads and writes around the blocks.
struct Fields {
    drop: SlotId,
    clone: SlotId,
    resubmit: SlotId,
    group: SlotId,
    egress_port: SlotId,
    class: SlotId,
    egress_drop: SlotId,
    egress_clone: SlotId,
    egress_class: SlotId,
}

pub(super) fn straight(program: &Program) -> Result<Straight, Refusal> {
    let mut made = program.clone();
    made.graph = None;
    let program = &mut made;
    let field = |name: &str| intrinsic(program, &format!("psa_{name}"));
    let fields = Fields {
        drop: field("ingress_output_metadata.drop")?,
        clone: field("ingress_output_metadata.clone")?,
        resubmit: field("ingress_output_metadata.resubmit")?,
        group: field("ingress_output_metadata.multicast_group")?,
        egress_port: field("ingress_output_metadata.egress_port")?,
        class: field("ingress_output_metadata.class_of_service")?,
        egress_drop: field("egress_output_metadata.drop")?,
        egress_clone: field("egress_output_metadata.clone")?,
        egress_class: field("egress_input_metadata.class_of_service")?,
    };
    let sides = Sides::of(program);
    sides.refuse_what_differs(program, &fields)?;
    let [before_parser, before_egress, before_copy] = sources(program, &fields)?;
    let first = Deparsed::of(program, stage(program, Role::IngressDeparser))?;
    let last = Deparsed::of(program, stage(program, Role::EgressDeparser))?;
    let misses = new_slot(program, "the egress parser's need for more than headers", 1);
    let recirculates = keeps_metadata(program).then(|| new_slot(program, "the recirculation port", 1));
    let reparse = Reparse {
        program,
        parser: stage(program, Role::EgressParser),
        emitted: &first.emitted,
        misses,
    };
    let parsed = reparse.blocks()?;
    let zeroed = sides.zeroed(program, &first.emitted)?;
    let hand_over = hand_over(program, &fields, recirculates, first.blocks, parsed, zeroed);
    let hand_over = new_body(program, "hand over", BodyKind::Control, hand_over);
    let end = new_body(program, "end", BodyKind::Control, last.blocks);
    let emitted = last.emitted.into_iter().chain(first.emitted);
    let emit = emitted.map(|header| Statement::new(Op::Emit { header })).collect();
    let emit = new_body(
        program,
        "emit",
        BodyKind::Deparser,
        vec![block(emit, Terminator::Return)],
    );
    let route = Route {
        parser: program.stages[&Role::IngressParser],
        verify_checksum: program.stages[&Role::Ingress],
        ingress: hand_over,
        egress: program.stages[&Role::Egress],
        compute_checksum: end,
        deparser: emit,
        checksum_error: None,
        egress_spec: fields.egress_port,
        ingress_drop: is_set(fields.drop),
        egress_drop: is_set(fields.egress_drop),
        copying: [fields.clone, fields.resubmit]
            .into_iter()
            .chain(recirculates)
            .collect(),
        misses: Some(misses),
        before_parser,
        before_egress,
        replication: Some(Replication {
            group: fields.group,
            before_copy,
        }),
        fixed: Vec::new(),
        preserved: Vec::new(),
    };
    Ok(Straight { program: made, route })
}

/// The port by which packets leave that go round again, unless they take values along.
pub(super) fn loop_port(program: &Program) -> Option<u32> {
    let port = *program
        .intrinsic
        .get("psa_egress_deparser_input_metadata.egress_port")?;
    let port = Bits::new(program.slot(port).width, psa::PORT_RECIRCULATE.into());
    (!keeps_metadata(program)).then(|| port.to_u64() as u32)
}

/// Whether packets that recirculate take values along. Other packets go round after they have left by the port for that.
fn keeps_metadata(program: &Program) -> bool {
    let kept = program.field_lists.get(&psa::RECIRCULATE);
    kept.is_some_and(|slots| !slots.is_empty())
}

fn stage(program: &Program, role: Role) -> &Body {
    program.stage(role).expect("the graph runs it")
}

fn is_set(slot: SlotId) -> DropWhen {
    DropWhen { slot, value: 1 }
}

/// What slots are told: before the parser, between ingress and egress of a packet, and of a copy.
fn sources(program: &Program, fields: &Fields) -> Result<[Vec<(SlotId, Source)>; 3], Refusal> {
    let field = |name: &str| intrinsic(program, &format!("psa_{name}"));
    let (port, time) = (
        Source::Argument(Argument::IngressPort),
        Source::Argument(Argument::Timestamp),
    );
    let before_parser = vec![
        (field("ingress_parser_input_metadata.ingress_port")?, port),
        (field("ingress_input_metadata.ingress_port")?, port),
        (field("ingress_input_metadata.ingress_timestamp")?, time),
        (fields.drop, Source::Number(1)),
    ];
    let of_egress = |path: u64, instance: Source| {
        Ok(vec![
            (field("egress_input_metadata.egress_port")?, Source::EgressPort),
            (field("egress_input_metadata.packet_path")?, Source::Number(path)),
            (field("egress_input_metadata.instance")?, instance),
            (field("egress_input_metadata.egress_timestamp")?, time),
            (field("egress_deparser_input_metadata.egress_port")?, Source::EgressPort),
        ])
    };
    let before_egress = of_egress(NORMAL_UNICAST, Source::Number(0))?;
    let before_copy = of_egress(NORMAL_MULTICAST, Source::Instance)?;
    Ok([before_parser, before_egress, before_copy])
}

/// What follows ingress: a packet that is dropped is nothing else; of others the frame is emitted and parsed.
fn hand_over(
    program: &Program,
    fields: &Fields,
    recirculates: Option<SlotId>,
    deparser: Vec<Block>,
    parser: Vec<Block>,
    zeroed: Vec<Statement>,
) -> Vec<Block> {
    let [dropped, checked, loops, crossing, parsed] = [1, 2, 3, 4, 5].map(BlockId);
    let first = 6;
    let deparse = BlockId(first);
    let parse = BlockId(first + deparser.len() as u32);
    let width = |slot| program.slot(slot).width;
    let zero = |slot| assign(slot, build::constant(width(slot), 0));
    let class = build::resize(
        Expr::Slot(fields.class),
        width(fields.class),
        width(fields.egress_class),
        false,
    );
    let class = assign(fields.egress_class, class);
    // The constant has the bits that the program's type of ports has, as in the graph.
    let port = build::constant(width(fields.egress_port), psa::PORT_RECIRCULATE.into());
    let is_port = recirculates.map(|_| build::equal(Expr::Slot(fields.egress_port), port));
    let loops_now = recirculates.map(|slot| assign(slot, build::boolean(true)));
    let mut blocks = vec![
        block(
            Vec::new(),
            Terminator::Branch {
                condition: Expr::Slot(fields.drop),
                then_block: dropped,
                else_block: deparse,
            },
        ),
        block(vec![zero(fields.group), zero(fields.resubmit)], Terminator::Return),
        block(
            Vec::new(),
            Terminator::Branch {
                condition: is_port.unwrap_or(build::boolean(false)),
                then_block: loops,
                else_block: crossing,
            },
        ),
        block(loops_now.into_iter().collect(), Terminator::Return),
        block(zeroed, Terminator::Jump(parse)),
        block(vec![class], Terminator::Return),
    ];
    append(&mut blocks, deparser, checked);
    append(&mut blocks, parser, parsed);
    blocks
}

/// What the blocks before the queue do, and those behind it.
struct Sides {
    read_behind: BTreeSet<SlotId>,
    written_before: BTreeSet<SlotId>,
    bodies_behind: Vec<BodyId>,
}

impl Sides {
    fn of(program: &Program) -> Sides {
        let before = [Role::IngressParser, Role::Ingress, Role::IngressDeparser];
        let behind = [Role::EgressParser, Role::Egress, Role::EgressDeparser];
        let bodies_before = with_actions(program, &before);
        let bodies_behind = with_actions(program, &behind);
        let mut read_behind = BTreeSet::new();
        for id in &bodies_behind {
            read(program, &program.bodies[id.index()], &mut read_behind);
        }
        let mut written_before = BTreeSet::new();
        for id in &bodies_before {
            written(program, &program.bodies[id.index()], &mut written_before);
        }
        Sides {
            read_behind,
            written_before,
            bodies_behind,
        }
    }

    /// Slots that both sides have and that begin with 0 behind the queue, as assignments.
    fn zeroed(&self, program: &Program, emitted: &[HeaderId]) -> Result<Vec<Statement>, Refusal> {
        let come_along = [psa::NORMAL, psa::CLONE_I2E, psa::CLONE_E2E];
        let come_along: BTreeSet<SlotId> = come_along
            .iter()
            .filter_map(|list| program.field_lists.get(list))
            .flatten()
            .copied()
            .collect();
        let shared = self.read_behind.intersection(&self.written_before);
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
        let zero = |slot: SlotId| assign(slot, build::constant(program.slot(slot).width, 0));
        Ok(begins.into_iter().map(zero).collect())
    }

    /// What only the graph does.
    fn refuse_what_differs(&self, program: &Program, fields: &Fields) -> Result<(), Refusal> {
        let parser = stage(program, Role::EgressParser);
        let mut read_by_parser = BTreeSet::new();
        read(program, parser, &mut read_by_parser);
        for name in ["egress_port", "packet_path"] {
            let slot = intrinsic(program, &format!("psa_egress_parser_input_metadata.{name}"))?;
            if read_by_parser.contains(&slot) {
                let location = parser.blocks[0].location;
                return Err(Refusal::new(
                    location,
                    format!("begins a parser that reads `{name}` behind the queue"),
                ));
            }
        }
        for id in &self.bodies_behind {
            for block in &program.bodies[id.index()].blocks {
                self.refuse_block(program, fields, block)?;
            }
        }
        Ok(())
    }

    fn refuse_block(&self, program: &Program, fields: &Fields, block: &Block) -> Result<(), Refusal> {
        const BYTES: &str = "counts bytes behind the queue, where frames may have another length";
        let counts_bytes = |unit: Unit| unit != Unit::Packets;
        for statement in &block.statements {
            let refuse = |text: &str| Err(Refusal::new(statement.location, text));
            match &statement.op {
                Op::Count { counter, .. } if counts_bytes(program.counters[counter.index()].unit) => {
                    return refuse(BYTES);
                }
                Op::ExecuteMeter { meter, .. } if counts_bytes(program.meters[meter.index()].unit) => {
                    return refuse(BYTES);
                }
                Op::Assign {
                    slot,
                    value: Expr::Const(value),
                } if *slot == fields.egress_clone && value.is_zero() => {}
                op if op.target() == Some(fields.egress_clone) => return refuse("clones the packet behind the queue"),
                _ => {}
            }
        }
        if let Terminator::Apply { table, .. } = block.terminator {
            let table = &program.tables[table.index()];
            let counter = table.direct_counter.map(|id| program.counters[id.index()].unit);
            let meter = table.direct_meter.map(|meter| program.meters[meter.meter.index()].unit);
            if counter.into_iter().chain(meter).any(counts_bytes) {
                return Err(Refusal::new(block.location, BYTES));
            }
        }
        Ok(())
    }
}

/// The slots that a body reads, with the keys of its tables and the headers that it emits.
fn read(program: &Program, body: &Body, slots: &mut BTreeSet<SlotId>) {
    let of_header = |header: &HeaderId| program.headers[header.index()].slots();
    for block in &body.blocks {
        for statement in &block.statements {
            statement.op.for_each_slot_read(&mut |slot| _ = slots.insert(slot));
            if let Op::Emit { header } = &statement.op {
                slots.extend(of_header(header));
            }
        }
        for expr in block.terminator.exprs() {
            expr.for_each_slot(&mut |slot| _ = slots.insert(slot));
        }
        if let Terminator::Apply { table, .. } = block.terminator {
            for key in &program.tables[table.index()].keys {
                key.expr.for_each_slot(&mut |slot| _ = slots.insert(slot));
            }
        }
    }
}

/// The slots that a body writes.
fn written(program: &Program, body: &Body, slots: &mut BTreeSet<SlotId>) {
    for block in &body.blocks {
        for statement in &block.statements {
            slots.extend(statement.op.slots_written(program));
        }
        if let Terminator::Apply {
            table, hit, action_run, ..
        } = block.terminator
        {
            slots.extend([hit, action_run].into_iter().flatten());
            slots.extend(program.tables[table.index()].direct_meter.and_then(|meter| meter.slot));
        }
    }
}
