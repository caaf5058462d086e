//! The straight path of a PNA program. Its single deparser comes after the decision where the packet goes.

use super::deparsed::Deparsed;
use super::{Refusal, Straight, append, assign, block, intrinsic, new_body, new_slot, with_actions};
use forebay_arch::pna;
use forebay_bits::Bits;
use forebay_ir::{
    BinaryOp, BlockId, Body, BodyKind, Expr, Op, PNA_FIRST_HOST_PORT, Program, Role, SlotId, Statement, Terminator,
    build,
};
use forebay_jit::route::{Argument, DropWhen, Route, Source};

pub(super) fn straight(program: &Program) -> Result<Straight, Refusal> {
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
    let recirculates = may_recirculate(program, fate).then(|| new_slot(program, "the recirculation of the packet", 1));
    let mut copying: Vec<SlotId> = recirculates.into_iter().collect();
    copying.extend((0..pna::MIRROR_SLOTS).filter_map(|index| mirror(program, index)));
    let deparsed = Deparsed::of(program, stage(program, Role::MainDeparser))?;
    let controls = controls(program, &[pre, main]);
    let controls = new_body(program, "controls", BodyKind::Control, controls);
    let hand_over = hand_over(program, fate, recirculates, deparsed.blocks);
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
        copying,
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
        leaving: None,
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

/// The deparser without its emits, and the decision whether the packet goes round again.
fn hand_over(
    program: &Program,
    fate: SlotId,
    recirculates: Option<SlotId>,
    deparser: Vec<forebay_ir::Block>,
) -> Vec<forebay_ir::Block> {
    let [decided, round] = [1, 2].map(BlockId);
    let width = program.slot(fate).width;
    let is_round = build::equal(Expr::Slot(fate), build::constant(width, pna::FATE_RECIRCULATE.into()));
    let is_round = recirculates.map_or(build::boolean(false), |_| is_round);
    let goes_round = recirculates.map(|slot| assign(slot, build::boolean(true)));
    let end = BlockId(3);
    let mut blocks = vec![
        block(Vec::new(), Terminator::Jump(BlockId(4))),
        block(
            Vec::new(),
            Terminator::Branch {
                condition: is_round,
                then_block: round,
                else_block: end,
            },
        ),
        block(goes_round.into_iter().collect(), Terminator::Return),
        block(Vec::new(), Terminator::Return),
    ];
    append(&mut blocks, deparser, decided);
    blocks
}

/// Whether a packet's fate may be to go round again.
fn may_recirculate(program: &Program, fate: SlotId) -> bool {
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
    statements.any(|statement| asks(&statement.op))
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
