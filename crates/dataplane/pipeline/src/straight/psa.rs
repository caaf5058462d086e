//! The straight path of a PSA program.

use super::deparsed::Deparsed;
use super::reparse::Reparse;
use super::side_exit;
use super::sides::Sides;
use super::{Refusal, Straight, append, assign, block, intrinsic, new_body, new_slot};
use forebay_arch::psa;
use forebay_bits::Bits;
use forebay_ir::{
    BinaryOp, Block, BlockId, Body, BodyId, BodyKind, Expr, HeaderId, Location, Op, Program, Role, SlotId, Statement,
    Terminator, build,
};
use forebay_jit::route::{Argument, DropWhen, Replication, Request, RequestKind, Route, Source};

/// Members of `PSA_PacketPath_t`.
const NORMAL_UNICAST: u64 = 1;
const NORMAL_MULTICAST: u64 = 2;

/// The fields of the intrinsic metadata that the architecture reads and writes around the blocks.
pub(super) struct Fields {
    drop: SlotId,
    clone: SlotId,
    resubmit: SlotId,
    group: SlotId,
    egress_port: SlotId,
    class: SlotId,
    egress_drop: SlotId,
    pub(super) egress_clone: SlotId,
    egress_class: SlotId,
}

pub(super) fn straight(program: &Program) -> Result<Straight, Refusal> {
    let leaving = side_exit::taken_along(program);
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
    let [before_parser, mut before_egress, mut before_copy] = sources(program, &fields)?;
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
    let counted = sides.counts_bytes(program);
    let lengths = counted
        .map(|location| Lengths::of(program, &first.emitted, location))
        .transpose()?;
    let mut zeroed = sides.zeroed(program, &first.emitted)?;
    zeroed.extend(lengths.as_ref().map(|lengths| lengths.emit.clone()));
    let set_length = |list: &mut Vec<(SlotId, Source)>| {
        list.extend(
            lengths
                .as_ref()
                .map(|lengths| (lengths.frame, Source::Payload(lengths.emitted))),
        );
    };
    set_length(&mut before_egress);
    set_length(&mut before_copy);
    let hand_over = hand_over(program, &fields, recirculates, first.blocks, parsed, zeroed);
    let hand_over = new_body(program, "hand over", BodyKind::Control, hand_over);
    let (egress, end) = egress(program, last.blocks);
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
        egress,
        compute_checksum: end,
        deparser: emit,
        checksum_error: None,
        parser_error: None,
        egress_spec: fields.egress_port,
        ingress_drop: is_set(fields.drop),
        egress_drop: is_set(fields.egress_drop),
        requests: requests(&fields, recirculates),
        sends_back: None,
        misses: Some(misses),
        counted_length: lengths.map(|lengths| lengths.frame),
        before_parser,
        before_egress,
        replication: Some(Replication {
            group: fields.group,
            before_copy,
        }),
        fixed: Vec::new(),
        preserved: None,
        clones_from_egress: false,
        cloned: None,
        clones_are_apart: false,
        leaving,
        clones_leave: false,
    };
    Ok(Straight { program: made, route })
}

/// The port by which packets that go round again leave, unless they keep values.
pub(super) fn loop_port(program: &Program) -> Option<u32> {
    let port = *program
        .intrinsic
        .get("psa_egress_deparser_input_metadata.egress_port")?;
    let port = Bits::new(program.slot(port).width, psa::PORT_RECIRCULATE.into());
    (!keeps_metadata(program)).then(|| port.to_u64() as u32)
}

/// Whether packets that recirculate keep values. Other packets go round after they have left by the port for
/// recirculation.
fn keeps_metadata(program: &Program) -> bool {
    let kept = program.field_lists.get(&psa::RECIRCULATE);
    kept.is_some_and(|slots| !slots.is_empty())
}

/// What makes a packet leave after ingress.
fn requests(fields: &Fields, recirculates: Option<SlotId>) -> Vec<Request> {
    let request = |kind| move |slot| Request { slot, kind };
    let own = [
        request(RequestKind::Clone)(fields.clone),
        request(RequestKind::Resubmit)(fields.resubmit),
    ];
    let round = recirculates.map(request(RequestKind::Recirculate));
    own.into_iter().chain(round).collect()
}

/// The line on which a packet gets the port for recirculation: by its number if there is such a line, otherwise any.
fn place_of_recirculation(program: &Program, egress_port: SlotId) -> Location {
    let statements = || {
        let blocks = program.bodies.iter().flat_map(|body| &body.blocks);
        blocks.flat_map(|block| &block.statements)
    };
    let sets = |is_number: &dyn Fn(&Expr) -> bool| {
        let mut all = statements();
        all.find(
            |statement| matches!(&statement.op, Op::Assign { slot, value } if *slot == egress_port && is_number(value)),
        )
    };
    let number = Bits::new(program.slot(egress_port).width, psa::PORT_RECIRCULATE.into());
    let constant = sets(&|value| matches!(value, Expr::Const(value) if *value == number));
    let any = || sets(&|value| !matches!(value, Expr::Const(_)));
    constant
        .or_else(any)
        .map_or(Location::default(), |statement| statement.location)
}

pub(super) fn stage(program: &Program, role: Role) -> &Body {
    program.stage(role).expect("the graph runs it")
}

fn is_set(slot: SlotId) -> DropWhen {
    DropWhen { slot, value: 1 }
}

/// The sources of slots: before the parser, and between ingress and egress for a packet and for a copy.
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

/// Egress, and what is done for packets that leave: the deparser without its emits. A deparser with effects is a part of egress,
/// because dropped packets have them, too.
fn egress(program: &mut Program, deparser: Vec<Block>) -> (BodyId, BodyId) {
    let egress = program.stages[&Role::Egress];
    if !psa::has_effects(program, Role::EgressDeparser) {
        return (egress, new_body(program, "end", BodyKind::Control, deparser));
    }
    let control = program.bodies[egress.index()].blocks.clone();
    let first = BlockId(control.len() as u32);
    let end = BlockId(first.0 + deparser.len() as u32);
    let mut blocks = Vec::new();
    append(&mut blocks, control, first);
    append(&mut blocks, deparser, end);
    let nothing = || block(Vec::new(), Terminator::Return);
    blocks.push(nothing());
    let egress = new_body(program, "egress with its deparser", BodyKind::Control, blocks);
    (egress, new_body(program, "end", BodyKind::Control, vec![nothing()]))
}

/// What follows ingress. Nothing follows for a packet that leaves. A dropped packet is deparsed only for the deparser's effects. For other
/// packets the frame is emitted and parsed.
fn hand_over(
    program: &Program,
    fields: &Fields,
    recirculates: Option<SlotId>,
    deparser: Vec<Block>,
    parser: Vec<Block>,
    zeroed: Vec<Statement>,
) -> Vec<Block> {
    let [
        not_cloned,
        leaves,
        dropped,
        kept,
        stays,
        loops,
        crossing,
        parsed,
        deparsed,
    ] = std::array::from_fn(|id| BlockId(id as u32 + 1));
    let first = 10;
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
    // The constant has as many bits as the program's type of ports, as in the graph.
    let port = build::constant(width(fields.egress_port), psa::PORT_RECIRCULATE.into());
    let is_port = recirculates.map(|_| build::equal(Expr::Slot(fields.egress_port), port));
    let loops_now = recirculates.map(|slot| Statement {
        location: place_of_recirculation(program, fields.egress_port),
        ..assign(slot, build::boolean(true))
    });
    let branch = |condition, then_block, else_block| {
        let terminator = Terminator::Branch {
            condition,
            then_block,
            else_block,
        };
        block(Vec::new(), terminator)
    };
    let is_set = |slot| Expr::Slot(slot);
    let has_effects = psa::has_effects(program, Role::IngressDeparser);
    let mut blocks = vec![
        branch(is_set(fields.clone), leaves, not_cloned),
        branch(is_set(fields.drop), if has_effects { deparse } else { dropped }, kept),
        block(Vec::new(), Terminator::Return),
        block(vec![zero(fields.group), zero(fields.resubmit)], Terminator::Return),
        branch(is_set(fields.resubmit), leaves, stays),
        branch(is_port.unwrap_or(build::boolean(false)), loops, deparse),
        block(loops_now.into_iter().collect(), Terminator::Return),
        block(zeroed, Terminator::Jump(parse)),
        block(vec![class], Terminator::Return),
        match has_effects {
            true => branch(is_set(fields.drop), dropped, crossing),
            false => block(Vec::new(), Terminator::Jump(crossing)),
        },
    ];
    append(&mut blocks, deparser, deparsed);
    append(&mut blocks, parser, parsed);
    blocks
}

/// Slots with lengths in bytes: of the headers that the first deparser emitted, and of the frame that begins with
/// them.
struct Lengths {
    emitted: SlotId,
    frame: SlotId,
    /// Computes `emitted`.
    emit: Statement,
}

impl Lengths {
    fn of(program: &mut Program, emitted: &[HeaderId], counting: Location) -> Result<Lengths, Refusal> {
        let mut sum = build::constant(32, 0);
        for header in emitted.iter().map(|id| &program.headers[id.index()]) {
            let fixed = header.fields.iter().filter(|field| field.length.is_none());
            let bits: u32 = fixed.map(|field| program.slot(field.slot).width).sum();
            if !bits.is_multiple_of(8) {
                let text = "counts bytes behind the queue, in a frame whose headers are no whole bytes";
                return Err(Refusal::new(counting, text));
            }
            let mut bytes = build::constant(32, (bits / 8).into());
            for length in header.fields.iter().filter_map(|field| field.length) {
                let eight = build::constant(32, 8);
                let varbit = build::binary(BinaryOp::Div, Expr::Slot(length), eight);
                bytes = build::binary(BinaryOp::Add, bytes, varbit);
            }
            let bytes = build::mux(Expr::Slot(header.valid), bytes, build::constant(32, 0));
            sum = build::binary(BinaryOp::Add, sum, bytes);
        }
        let frame = new_slot(program, "length.frame", 32);
        let emitted = new_slot(program, "length.emitted", 32);
        Ok(Lengths {
            emitted,
            frame,
            emit: assign(emitted, sum),
        })
    }
}
