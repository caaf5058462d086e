//! The straight path of a PNA program. Its single deparser comes after the decision where the packet goes.

use super::deparsed::Deparsed;
use super::sends_back;
use super::{
    Refusal, Straight, append, assign, branch, cloning, ends, exit_in_action, intrinsic, jumps, new_body, new_deparser,
    new_empty_control, new_slot, side_exit,
};
use forebay_arch::pna;
use forebay_bits::Bits;
use forebay_ir::{
    BinaryOp, BlockId, Body, BodyId, BodyKind, CloneKind, Expr, Location, Op, PNA_FIRST_HOST_PORT, Program, Role,
    SlotId, Statement, build,
};
use forebay_jit::route::{
    Argument, ClonedFrame, Cloning, DropWhen, PassSet, Request, RequestKind, Route, SendsBack, Source,
};

/// The number of the field list with what packets keep that recirculate.
const KEPT: u32 = 0;

/// The straight path of a program. Mirrored copies are noted if the program uses a single mirror slot and the frames
/// consist of whole bytes. Otherwise mirrored packets leave specialised code.
pub(super) fn straight(program: &Program) -> Result<Straight, Refusal> {
    let (made, is_whole) = straightened(program, true)?;
    if is_whole {
        Ok(made)
    } else {
        straightened(program, false).map(|(made, _)| made)
    }
}

/// The straight path, and whether the frames consist of whole bytes.
fn straightened(program: &Program, notes_mirrors: bool) -> Result<(Straight, bool), Refusal> {
    let leaving = side_exit::taken_along(program);
    let mut made = program.clone();
    made.graph = None;
    let program = &mut made;
    refuse_exits_before_main(program)?;
    let told = ["main_parser", "pre", "main"].map(|block| told(program, block));
    let [parser_input, pre, main] = told;
    let time = intrinsic(program, "pna_main_input_metadata.timestamp")?;
    let port = Source::Argument(Argument::IngressPort);
    let ports = told.iter().filter_map(|told| told.input_port);
    let before_parser = ports
        .map(|field| (field, port))
        .chain([(time, Source::Argument(Argument::Timestamp))])
        .collect();
    let verdict = intrinsic(program, "pna.fate")?;
    let mut mirrors: Vec<Mirror> = (0..pna::MIRROR_SLOTS)
        .filter_map(|index| mirror(program, index))
        .collect();
    let recirculation = place_of_recirculation(program, verdict);
    let round = recirculation.map(|place| (Round::of(program, !mirrors.is_empty()), place));
    let pass = round.as_ref().and_then(|(round, _)| round.pass());
    let noted = (notes_mirrors && mirrors.len() == 1).then(|| mirrors.pop()).flatten();
    let request = |kind| move |slot| Request { slot, kind };
    let leaves = round.as_ref().and_then(|(round, _)| round.leaves());
    let leaves = leaves.map(request(RequestKind::Recirculate));
    let of_mirrors = mirrors.iter().map(|mirror| mirror.wanted);
    let of_mirrors = of_mirrors.map(request(RequestKind::Mirror));
    let requests: Vec<Request> = leaves.into_iter().chain(of_mirrors).collect();
    let deparsed = Deparsed::of(program, Role::MainDeparser)?;
    let parser = parser(program, parser_input, pass);
    let controls = controls(program, &[pre, main], pass);
    let controls = new_body(program, "controls", BodyKind::Control, controls);
    let hand_over = hand_over(program, (verdict, round.as_ref()), &mirrors, noted, deparsed.blocks);
    let hand_over = new_body(program, "hand over", BodyKind::Control, hand_over);
    let nothing = new_empty_control(program);
    let emit = new_deparser(program, deparsed.emitted.iter().copied());
    let dropped = DropWhen {
        slot: verdict,
        value: 0,
    };
    let mut route = Route {
        parser,
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
        sends_back: round.and_then(|(round, _)| round.sends_back()),
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
        without: PassSet::NONE,
    };
    cloning::note(program, &mut route, Vec::new());
    let is_whole = cloning::is_whole(program, &deparsed.emitted, &route);
    Ok((Straight { program: made, route }, is_whole))
}

fn stage(program: &Program, role: Role) -> &Body {
    program.stage(role).expect("the graph runs it")
}

/// How packets go round again.
enum Round {
    /// Before the deparser they leave specialised code, which this slot requests.
    Leaves(SlotId),
    /// They end their pass, as far as their new frame. The number of passes in the slot is kept.
    Ends(SendsBack, SlotId),
}

impl Round {
    /// The way of a program's packets. Those that may be mirrored too leave.
    fn of(program: &mut Program, is_mirrored: bool) -> Round {
        match pna::pass(program) {
            Some(pass) if !is_mirrored => {
                program.field_lists.insert(KEPT, vec![pass]);
                Round::Ends(sends_back::slots(program, vec![pass]), pass)
            }
            _ => Round::Leaves(new_slot(program, "the recirculation of the packet", 1)),
        }
    }

    /// The slot with the number of passes before this one, if later passes may be on the fast path.
    fn pass(&self) -> Option<SlotId> {
        match self {
            Round::Leaves(_) => None,
            Round::Ends(_, pass) => Some(*pass),
        }
    }

    /// The slot that requests to leave.
    fn leaves(&self) -> Option<SlotId> {
        match self {
            Round::Leaves(slot) => Some(*slot),
            Round::Ends(..) => None,
        }
    }

    fn sends_back(self) -> Option<SendsBack> {
        match self {
            Round::Leaves(_) => None,
            Round::Ends(back, _) => Some(back),
        }
    }

    /// What a packet does that goes round, before the block `deparse`.
    fn block(&self, program: &Program, location: Location, deparse: BlockId) -> forebay_ir::Block {
        let at = |statement: Statement| Statement { location, ..statement };
        match self {
            Round::Leaves(slot) => ends(vec![at(assign(*slot, build::boolean(true)))]),
            Round::Ends(back, pass) => {
                let one = build::constant(program.slot(*pass).width, 1);
                let next_pass = build::binary(BinaryOp::Add, Expr::Slot(*pass), one);
                let asks = assign(back.recirculate, sends_back::keeping(KEPT));
                jumps(vec![at(asks), at(assign(*pass, next_pass))], deparse)
            }
        }
    }
}

/// The slots that are set before a block, if the program's version of PNA has them.
#[derive(Clone, Copy)]
struct BlockInput {
    direction: Option<SlotId>,
    input_port: Option<SlotId>,
    pass: Option<SlotId>,
    recirculated: Option<SlotId>,
}

fn told(program: &Program, block: &str) -> BlockInput {
    let field = |name: &str| {
        let field = format!("pna_{block}_input_metadata.{name}");
        program.intrinsic.get(&field).copied()
    };
    BlockInput {
        direction: field("direction"),
        input_port: field("input_port"),
        pass: field("pass"),
        recirculated: field("recirculated"),
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

/// The parser. What it reads of its input is set before its first state.
fn parser(program: &mut Program, told: BlockInput, pass: Option<SlotId>) -> BodyId {
    let own = program.stages[&Role::MainParser];
    let body = &program.bodies[own.index()];
    let mut first = tell(program, told, pass);
    first.retain(|statement| statement.op.target().is_some_and(|slot| reads(body, slot)));
    if first.is_empty() {
        return own;
    }
    let (name, mut blocks) = (body.name.clone(), body.blocks.clone());
    first
        .iter_mut()
        .for_each(|statement| statement.location = blocks[0].location);
    first.append(&mut blocks[0].statements);
    blocks[0].statements = first;
    new_body(program, &name, BodyKind::Parser, blocks)
}

/// The controls in one body. Before each one, its input is set.
fn controls(program: &Program, told: &[BlockInput], pass: Option<SlotId>) -> Vec<forebay_ir::Block> {
    let mut blocks = Vec::new();
    for (role, told) in [Role::PreControl, Role::MainControl].into_iter().zip(told) {
        let own = &stage(program, role).blocks;
        let behind = BlockId((blocks.len() + 1 + own.len()) as u32);
        let first = BlockId(blocks.len() as u32 + 1);
        blocks.push(jumps(tell(program, *told, pass), first));
        append(&mut blocks, own.clone(), behind);
    }
    blocks.push(ends(Vec::new()));
    blocks
}

/// Sets the input of a block that is computed: its direction, and the number of passes, which is 0 without `pass`.
fn tell(program: &Program, told: BlockInput, pass: Option<SlotId>) -> Vec<Statement> {
    let width = |slot: SlotId| program.slot(slot).width;
    let number = told.pass.zip(pass).map(|(field, pass)| {
        let number = build::resize(Expr::Slot(pass), width(pass), width(field), false);
        assign(field, number)
    });
    let recirculated = told.recirculated.zip(pass).map(|(field, pass)| {
        let first_pass = build::equal(Expr::Slot(pass), build::constant(width(pass), 0));
        assign(field, build::not(first_pass))
    });
    let direction = direction(program, told).into_iter();
    direction.chain(number).chain(recirculated).collect()
}

fn direction(program: &Program, told: BlockInput) -> Option<Statement> {
    let (field, port) = (told.direction?, told.input_port?);
    let width = program.slot(field).width;
    let first_host_port = build::constant(32, PNA_FIRST_HOST_PORT.into());
    let from_network = build::binary(BinaryOp::Lt, Expr::Slot(port), first_host_port);
    let (net_to_host, host_to_net) = (build::constant(width, 0), build::constant(width, 1));
    Some(assign(field, build::mux(from_network, net_to_host, host_to_net)))
}

/// The deparser without its emits. Packets that are mirrored in one of these slots leave before it, and so do those that
/// recirculate and [may be mirrored](Round::Leaves).
fn hand_over(
    program: &Program,
    (verdict, round): (SlotId, Option<&(Round, Location)>),
    mirrors: &[Mirror],
    noted: Option<Mirror>,
    deparser: Vec<forebay_ir::Block>,
) -> Vec<forebay_ir::Block> {
    let [leaves, goes_round, deparsed, clone, end] = [1, 2, 3, 4, 5].map(|place| BlockId(mirrors.len() as u32 + place));
    let deparse = BlockId(end.0 + 1);
    let width = program.slot(verdict).width;
    let is_round = build::equal(
        Expr::Slot(verdict),
        build::constant(width, pna::FATE_RECIRCULATE.into()),
    );
    let is_round = round.map_or(build::boolean(false), |_| is_round);
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
    blocks.push(branch(is_round, goes_round, deparse));
    blocks.push(ends(Vec::new()));
    blocks.push(match round {
        Some((round, location)) => round.block(program, *location, deparse),
        None => ends(Vec::new()),
    });
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

/// Whether a parser reads a slot.
fn reads(parser: &Body, slot: SlotId) -> bool {
    let mut is_read = false;
    let mut see = |read| is_read |= read == slot;
    for block in &parser.blocks {
        for statement in &block.statements {
            statement.op.for_each_slot_read(&mut see);
        }
        for expr in block.terminator.exprs() {
            expr.for_each_slot(&mut see);
        }
    }
    is_read
}

/// Refuses programs in which an action of the first control exits: `exit` ends only that control, but here both
/// controls are one body.
fn refuse_exits_before_main(program: &Program) -> Result<(), Refusal> {
    match exit_in_action(program, Role::PreControl) {
        Some(location) => Err(Refusal::new(location, "ends the first of two controls in an action")),
        None => Ok(()),
    }
}
