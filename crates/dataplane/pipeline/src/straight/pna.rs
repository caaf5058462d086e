//! The straight path of a PNA program. Its single deparser comes after the decision where the packet goes.

use super::deparsed::Deparsed;
use super::{
    Refusal, Straight, append, assign, branch, cloning, ends, exit_in_action, intrinsic, jumps, new_body, new_deparser,
    new_empty_control, new_slot, side_exit,
};
use forebay_arch::pna;
use forebay_bits::Bits;
use forebay_ir::{
    BinaryOp, BlockId, Body, BodyKind, CloneKind, Expr, Location, Op, PNA_FIRST_HOST_PORT, Program, Role, SlotId,
    Statement, build,
};
use forebay_jit::route::{Argument, ClonedFrame, Cloning, DropWhen, Request, RequestKind, Route, Source};

/// The straight path of a program. Mirrored copies are noted if the program uses a single mirror slot and the frames
/// consist of whole bytes. Otherwise mirrored packets leave specialised code.
pub(super) fn straight(program: &Program) -> Result<Straight, Refusal> {
    let made = straightened(program, true)?;
    let emitted = Deparsed::of(program, stage(program, Role::MainDeparser))?.emitted;
    let is_noted = cloning::is_whole(program, &emitted, &made.route);
    if is_noted {
        Ok(made)
    } else {
        straightened(program, false)
    }
}

fn straightened(program: &Program, notes_mirrors: bool) -> Result<Straight, Refusal> {
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
    let verdict = intrinsic(program, "pna.fate")?;
    let recirculation = place_of_recirculation(program, verdict);
    let recirculates = recirculation.map(|place| (new_slot(program, "the recirculation of the packet", 1), place));
    let mut mirrors: Vec<Mirror> = (0..pna::MIRROR_SLOTS)
        .filter_map(|index| mirror(program, index))
        .collect();
    let noted = (notes_mirrors && mirrors.len() == 1).then(|| mirrors.pop()).flatten();
    let request = |kind| move |slot| Request { slot, kind };
    let round = recirculates
        .map(|(slot, _)| slot)
        .map(request(RequestKind::Recirculate));
    let of_mirrors = mirrors.iter().map(|mirror| mirror.wanted);
    let of_mirrors = of_mirrors.map(request(RequestKind::Mirror));
    let requests: Vec<Request> = round.into_iter().chain(of_mirrors).collect();
    let deparsed = Deparsed::of(program, stage(program, Role::MainDeparser))?;
    let controls = controls(program, &[pre, main]);
    let controls = new_body(program, "controls", BodyKind::Control, controls);
    let hand_over = hand_over(program, (verdict, recirculates), &mirrors, noted, deparsed.blocks);
    let hand_over = new_body(program, "hand over", BodyKind::Control, hand_over);
    let nothing = new_empty_control(program);
    let emit = new_deparser(program, deparsed.emitted);
    let dropped = DropWhen {
        slot: verdict,
        value: 0,
    };
    let mut route = Route {
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
        leaving: leaving.filter(|_| !requests.is_empty()),
        requests,
        sends_back: None,
        misses: None,
        counted_length: None,
        before_parser,
        before_egress: Vec::new(),
        replication: None,
        fixed: Vec::new(),
        cloning: Cloning {
            frames: [ClonedFrame::Deparsed; 2],
            ..Cloning::default()
        },
    };
    cloning::note(program, &mut route, Vec::new());
    Ok(Straight { program: made, route })
}

fn stage(program: &Program, role: Role) -> &Body {
    program.stage(role).expect("the graph runs it")
}

/// The slots that are set before a block, if the program's version of PNA has them.
#[derive(Clone, Copy)]
struct BlockInput {
    direction: Option<SlotId>,
    input_port: Option<SlotId>,
}

fn told(program: &Program, block: &str) -> BlockInput {
    let field = |name: &str| {
        let field = format!("pna_{block}_input_metadata.{name}");
        program.intrinsic.get(&field).copied()
    };
    BlockInput {
        direction: field("direction"),
        input_port: field("input_port"),
    }
}

/// A mirror slot that the program uses.
#[derive(Clone, Copy)]
struct Mirror {
    wanted: SlotId,
    session: SlotId,
    /// The first line that requests the mirrored copy.
    place: Location,
}

fn mirror(program: &Program, index: u32) -> Option<Mirror> {
    let slot = |name: &str| program.intrinsic.get(&format!("pna.{name}_{index}")).copied();
    let wanted = slot("mirror")?;
    Some(Mirror {
        wanted,
        session: slot("session")?,
        place: cloning::place_of_request(program, wanted)?,
    })
}

/// The controls in one body. Before each one, its direction is set.
fn controls(program: &Program, told: &[BlockInput]) -> Vec<forebay_ir::Block> {
    let mut blocks = Vec::new();
    for (role, told) in [Role::PreControl, Role::MainControl].into_iter().zip(told) {
        let own = &stage(program, role).blocks;
        let behind = BlockId((blocks.len() + 1 + own.len()) as u32);
        let first = BlockId(blocks.len() as u32 + 1);
        let direction = direction(program, *told).into_iter().collect();
        blocks.push(jumps(direction, first));
        append(&mut blocks, own.clone(), behind);
    }
    blocks.push(ends(Vec::new()));
    blocks
}

fn direction(program: &Program, told: BlockInput) -> Option<Statement> {
    let (field, port) = (told.direction?, told.input_port?);
    let width = program.slot(field).width;
    let first_host_port = build::constant(32, PNA_FIRST_HOST_PORT.into());
    let from_network = build::binary(BinaryOp::Lt, Expr::Slot(port), first_host_port);
    let (net_to_host, host_to_net) = (build::constant(width, 0), build::constant(width, 1));
    Some(assign(field, build::mux(from_network, net_to_host, host_to_net)))
}

/// The deparser without its emits. Packets that recirculate, or that are mirrored in one of these slots, leave before
/// it.
fn hand_over(
    program: &Program,
    (verdict, recirculates): (SlotId, Option<(SlotId, Location)>),
    mirrors: &[Mirror],
    noted: Option<Mirror>,
    deparser: Vec<forebay_ir::Block>,
) -> Vec<forebay_ir::Block> {
    let [leaves, round, deparsed, clone, end] = [1, 2, 3, 4, 5].map(|place| BlockId(mirrors.len() as u32 + place));
    let deparse = BlockId(end.0 + 1);
    let width = program.slot(verdict).width;
    let is_round = build::equal(
        Expr::Slot(verdict),
        build::constant(width, pna::FATE_RECIRCULATE.into()),
    );
    let is_round = recirculates.map_or(build::boolean(false), |_| is_round);
    let goes_round = recirculates.map(|(slot, location)| Statement {
        location,
        ..assign(slot, build::boolean(true))
    });
    let mirrored = noted.map(|mirror| Statement {
        op: cloning::clone(program, CloneKind::IngressToEgress, mirror.session, None),
        location: mirror.place,
    });
    let is_mirrored = noted.map_or(build::boolean(false), |mirror| Expr::Slot(mirror.wanted));
    let next = (1..).map(BlockId);
    let leave = mirrors.iter().zip(next);
    let mut blocks: Vec<forebay_ir::Block> = leave
        .map(|(mirror, next)| branch(Expr::Slot(mirror.wanted), leaves, next))
        .collect();
    blocks.push(branch(is_round, round, deparse));
    blocks.push(ends(Vec::new()));
    blocks.push(ends(goes_round.into_iter().collect()));
    blocks.push(branch(is_mirrored, clone, end));
    blocks.push(ends(mirrored.into_iter().collect()));
    blocks.push(ends(Vec::new()));
    append(&mut blocks, deparser, deparsed);
    blocks
}

/// The first line that may decide that a packet recirculates, if there is one.
fn place_of_recirculation(program: &Program, verdict: SlotId) -> Option<Location> {
    let round = Bits::new(program.slot(verdict).width, pna::FATE_RECIRCULATE.into());
    let asks = |op: &Op| match op {
        Op::Assign {
            slot,
            value: Expr::Const(value),
        } => *slot == verdict && *value == round,
        op => op.target() == Some(verdict),
    };
    let mut statements = program.statements();
    let statement = statements.find(|statement| asks(&statement.op));
    statement.map(|statement| statement.location)
}

/// Refuses programs whose parser reads `direction`: it is computed before each control, and nothing can be computed
/// before the parser.
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
    if reads {
        Err(Refusal::new(
            parser.blocks[0].location,
            "begins a parser that reads `direction`",
        ))
    } else {
        Ok(())
    }
}

/// Refuses programs in which an action of the first control exits: `exit` ends only that control, but here both
/// controls are one body.
fn refuse_exits_before_main(program: &Program) -> Result<(), Refusal> {
    match exit_in_action(program, Role::PreControl) {
        Some(location) => Err(Refusal::new(location, "ends the first of two controls in an action")),
        None => Ok(()),
    }
}
