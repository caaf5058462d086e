//! The straight path of a PNA program. Its single deparser comes after the decision where the packet goes.

use super::deparsed::Deparsed;
use super::side_exit;
use super::{Refusal, Straight, append, assign, block, intrinsic, new_body, new_slot, with_actions};
use forebay_arch::pna;
use forebay_bits::Bits;
use forebay_ir::{
    BinaryOp, BlockId, Body, BodyKind, Expr, Location, Op, PNA_FIRST_HOST_PORT, Program, Role, SlotId, Statement,
    Terminator, build,
};
use forebay_jit::route::{Argument, DropWhen, Request, RequestKind, Route, Source};

pub(super) fn straight(program: &Program) -> Result<Straight, Refusal> {
    let leaving = side_exit::taken_along(program);
    let mut made = program.clone();
    made.graph = None;
    let program = &mut made;
    refuse_exits_before_main(program)?;
    let told = ["main_parser", "pre", "main"].map(|block| told(program, block));
    let [parser, pre, main] = told;
    if let Some(direction) = parser.direction {
        refuse_direction_in_parser(program, direction)?;
    }
    let time = intrinsic(program, "pna_main_input_metadata.timestamp")?;
    let port = Source::Argument(Argument::IngressPort);
    let ports = told.iter().filter_map(|told| told.input_port);
    let before_parser = ports
        .map(|field| (field, port))
        .chain([(time, Source::Argument(Argument::Timestamp))])
        .collect();
    let fate = intrinsic(program, "pna.fate")?;
    let recirculation = place_of_recirculation(program, fate);
    let recirculates = recirculation.map(|place| (new_slot(program, "the recirculation of the packet", 1), place));
    let mirrors: Vec<SlotId> = (0..pna::MIRROR_SLOTS)
        .filter_map(|index| mirror(program, index))
        .collect();
    let request = |kind| move |slot| Request { slot, kind };
    let round = recirculates
        .map(|(slot, _)| slot)
        .map(request(RequestKind::Recirculate));
    let of_mirrors = mirrors.iter().copied().map(request(RequestKind::Mirror));
    let requests = round.into_iter().chain(of_mirrors).collect();
    let deparsed = Deparsed::of(program, stage(program, Role::MainDeparser))?;
    let controls = controls(program, &[pre, main]);
    let controls = new_body(program, "controls", BodyKind::Control, controls);
    let hand_over = hand_over(program, fate, recirculates, &mirrors, deparsed.blocks);
    let hand_over = new_body(program, "hand over", BodyKind::Control, hand_over);
    let nothing = new_body(
        program,
        "nothing",
        BodyKind::Control,
        vec![block(Vec::new(), Terminator::Return)],
    );
    let emit = deparsed.emitted.into_iter();
    let emit = emit.map(|header| Statement::new(Op::Emit { header })).collect();
    let emit = new_body(
        program,
        "emit",
        BodyKind::Deparser,
        vec![block(emit, Terminator::Return)],
    );
    let dropped = DropWhen { slot: fate, value: 0 };
    let route = Route {
        parser: program.stages[&Role::MainParser],
        verify_checksum: controls,
        ingress: hand_over,
        egress: nothing,
        compute_checksum: nothing,
        deparser: emit,
        checksum_error: None,
        parser_error: None,
        egress_spec: intrinsic(program, "pna.port")?,
        ingress_drop: dropped,
        egress_drop: dropped,
        requests,
        sends_back: None,
        misses: None,
        counted_length: None,
        before_parser,
        before_egress: Vec::new(),
        replication: None,
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

fn stage(program: &Program, role: Role) -> &Body {
    program.stage(role).expect("the graph runs it")
}

/// The slots that are set before a block, if the program's version of PNA has them.
#[derive(Clone, Copy)]
struct Told {
    direction: Option<SlotId>,
    input_port: Option<SlotId>,
}

fn told(program: &Program, block: &str) -> Told {
    let field = |name: &str| {
        let field = format!("pna_{block}_input_metadata.{name}");
        program.intrinsic.get(&field).copied()
    };
    Told {
        direction: field("direction"),
        input_port: field("input_port"),
    }
}

fn mirror(program: &Program, index: u32) -> Option<SlotId> {
    program.intrinsic.get(&format!("pna.mirror_{index}")).copied()
}

/// The controls in one body. Before each one, its direction is set.
fn controls(program: &Program, told: &[Told]) -> Vec<forebay_ir::Block> {
    let mut blocks = Vec::new();
    for (role, told) in [Role::PreControl, Role::MainControl].into_iter().zip(told) {
        let own = &stage(program, role).blocks;
        let behind = BlockId((blocks.len() + 1 + own.len()) as u32);
        let first = BlockId(blocks.len() as u32 + 1);
        let direction = direction(program, *told).into_iter().collect();
        blocks.push(block(direction, Terminator::Jump(first)));
        append(&mut blocks, own.clone(), behind);
    }
    blocks.push(block(Vec::new(), Terminator::Return));
    blocks
}

fn direction(program: &Program, told: Told) -> Option<Statement> {
    let (field, port) = (told.direction?, told.input_port?);
    let width = program.slot(field).width;
    let first_host_port = build::constant(32, PNA_FIRST_HOST_PORT.into());
    let from_network = build::binary(BinaryOp::Lt, Expr::Slot(port), first_host_port);
    let (net_to_host, host_to_net) = (build::constant(width, 0), build::constant(width, 1));
    Some(assign(field, build::mux(from_network, net_to_host, host_to_net)))
}

/// The deparser without its emits, for packets that neither go round again nor are mirrored. Others leave before it.
fn hand_over(
    program: &Program,
    fate: SlotId,
    recirculates: Option<(SlotId, Location)>,
    mirrors: &[SlotId],
    deparser: Vec<forebay_ir::Block>,
) -> Vec<forebay_ir::Block> {
    let [leaves, end, round] = [0, 1, 2].map(|place| BlockId(mirrors.len() as u32 + 1 + place));
    let deparse = BlockId(round.0 + 1);
    let width = program.slot(fate).width;
    let is_round = build::equal(Expr::Slot(fate), build::constant(width, pna::FATE_RECIRCULATE.into()));
    let is_round = recirculates.map_or(build::boolean(false), |_| is_round);
    let goes_round = recirculates.map(|(slot, location)| Statement {
        location,
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
    let next = (1..).map(BlockId);
    let is_mirrored = mirrors.iter().zip(next);
    let mut blocks: Vec<forebay_ir::Block> = is_mirrored
        .map(|(slot, next)| branch(Expr::Slot(*slot), leaves, next))
        .collect();
    blocks.push(branch(is_round, round, deparse));
    blocks.push(block(Vec::new(), Terminator::Return));
    blocks.push(block(Vec::new(), Terminator::Return));
    blocks.push(block(goes_round.into_iter().collect(), Terminator::Return));
    append(&mut blocks, deparser, end);
    blocks
}

/// The line on which a packet's fate may become to go round again, if there is one.
fn place_of_recirculation(program: &Program, fate: SlotId) -> Option<Location> {
    let round = Bits::new(program.slot(fate).width, pna::FATE_RECIRCULATE.into());
    let asks = |op: &Op| match op {
        Op::Assign {
            slot,
            value: Expr::Const(value),
        } => *slot == fate && *value == round,
        op => op.target() == Some(fate),
    };
    let mut statements = program
        .bodies
        .iter()
        .flat_map(|body| &body.blocks)
        .flat_map(|block| &block.statements);
    let statement = statements.find(|statement| asks(&statement.op));
    statement.map(|statement| statement.location)
}

/// The direction would have to be known in the parser, before anything can be computed.
fn refuse_direction_in_parser(program: &Program, direction: SlotId) -> Result<(), Refusal> {
    let parser = stage(program, Role::MainParser);
    let mut reads = false;
    let mut see = |slot| reads |= slot == direction;
    for block in &parser.blocks {
        for statement in &block.statements {
            statement.op.for_each_slot_read(&mut see);
        }
        for expr in block.terminator.exprs() {
            expr.for_each_slot(&mut see);
        }
    }
    match reads {
        true => Err(Refusal::new(
            parser.blocks[0].location,
            "begins a parser that reads `direction`",
        )),
        false => Ok(()),
    }
}

/// `exit` in an action of the first control ends only that control.
fn refuse_exits_before_main(program: &Program) -> Result<(), Refusal> {
    let pre = program.stages[&Role::PreControl];
    let actions = with_actions(program, &[Role::PreControl])
        .into_iter()
        .filter(|id| *id != pre);
    for block in actions.flat_map(|id| &program.bodies[id.index()].blocks) {
        if block.terminator == Terminator::Exit {
            return Err(Refusal::new(
                block.location,
                "ends the first of two controls in an action",
            ));
        }
    }
    Ok(())
}
