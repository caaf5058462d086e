//! Which headers may be valid together in packets that egress clones, and whether clones observe the values of invalid
//! headers.
//!
//! Walks the blocks of bodies with the sets of valid headers. Branches are decided where their conditions depend only
//! on validity and on slots that were assigned constants, such as a flag that says whether to clone the packet.

use forebay_bits::Bits;
use forebay_exec::{State, eval};
use forebay_ir::{
    BinaryOp, Block, BlockId, BodyId, Expr, HeaderId, Location, Op, Program, SlotId, SlotKind, Terminator,
};
use forebay_jit::route::{Route, Source};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Headers that are valid together.
pub(super) type Valid = BTreeSet<HeaderId>;

/// The most visits of a block with what is known there.
const VISITS_MAX: usize = 20_000;

/// The most sets of headers.
const SETS_MAX: usize = 256;

/// A set of headers, a bit for each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Headers(Vec<u64>);

impl Headers {
    fn new(program: &Program) -> Headers {
        Headers(vec![0; program.headers.len().div_ceil(64)])
    }

    fn insert(&mut self, header: HeaderId) {
        self.0[header.index() / 64] |= 1 << (header.index() % 64);
    }

    /// Whether it was there.
    fn remove(&mut self, header: HeaderId) -> bool {
        let was_there = self.contains(header);
        self.0[header.index() / 64] &= !(1 << (header.index() % 64));
        was_there
    }

    fn contains(&self, header: HeaderId) -> bool {
        self.0[header.index() / 64] >> (header.index() % 64) & 1 == 1
    }

    fn retain(&mut self, others: &BTreeSet<HeaderId>) {
        for (word, bits) in (0..).zip(&mut self.0) {
            let kept = others.iter().filter(|header| header.index() / 64 == word);
            *bits &= kept.fold(0, |kept, header| kept | 1 << (header.index() % 64));
        }
    }

    fn of(&self, program: &Program) -> Valid {
        let all = (0..program.headers.len() as u32).map(HeaderId);
        all.filter(|header| self.contains(*header)).collect()
    }
}

/// What is known at a position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Known {
    valid: Headers,
    /// Invalid headers that have been given values.
    stale: Headers,
    /// The values of slots that decide.
    constants: BTreeMap<SlotId, u64>,
    /// Whether egress has cloned the packet.
    is_cloned: bool,
}

/// The headers of packets that egress clones.
pub(super) struct Validities {
    /// The sets of headers that may be valid together after egress.
    pub(super) sets: BTreeSet<Valid>,
    /// Where a clone may read, in egress or later, the value of a header that is invalid, and which.
    pub(super) reads_stale: Option<(Location, SlotId)>,
}

/// Finds the validities of arriving packets; `None` when there are too many paths. `for_clones` is the program as
/// clones from egress execute it.
pub(super) fn of_clones(program: &Program, for_clones: &Program, route: &Route) -> Option<Validities> {
    let bodies = [route.parser, route.verify_checksum, route.ingress, route.egress];
    let liveness = Liveness::of(program, bodies);
    // Constants exclude paths that no packet takes, but paths that differ only in constants are walked one by one.
    find(program, for_clones, route, &liveness).or_else(|| find(program, for_clones, route, &Liveness::default()))
}

fn find(program: &Program, for_clones: &Program, route: &Route, liveness: &Liveness) -> Option<Validities> {
    let mut walk = Walk {
        program,
        liveness,
        is_of_clones: false,
        parser_error: route.parser_error,
        nothing: State::new(&Program::new(program.architecture)),
        visits_left: VISITS_MAX,
        reads_stale: None,
        location: Location::default(),
    };
    // All slots are 0 before the parser, except for those that the architecture sets.
    let first = liveness.before.get(&route.parser).map(|before| &before[0].deciding);
    let mut known = Known {
        constants: first.into_iter().flatten().map(|slot| (*slot, 0)).collect(),
        valid: Headers::new(program),
        stale: Headers::new(program),
        is_cloned: false,
    };
    set(&route.before_parser, &mut known);
    let behind = walk.through(route.parser, BTreeSet::from([known]))?;
    let verified = walk
        .through(route.verify_checksum, behind)?
        .into_iter()
        .map(|mut known| {
            route
                .checksum_error
                .iter()
                .for_each(|slot| _ = known.constants.remove(slot));
            known
        });
    let behind = walk.through(route.ingress, verified.collect())?;
    // A packet that ingress has cloned is not cloned by egress yet.
    let before_egress = behind.into_iter().map(|mut known| {
        set(&route.before_egress, &mut known);
        Known {
            is_cloned: false,
            ..known
        }
    });
    let before_egress: BTreeSet<Known> = before_egress.collect();
    let behind = walk.through(route.egress, before_egress)?;
    let sets: BTreeSet<Valid> = cloned(&behind).map(|known| known.valid.of(program)).collect();
    // A clone may be cloned again.
    let bodies = [route.egress, route.egress, route.compute_checksum, route.deparser];
    let liveness = Liveness::of(for_clones, bodies);
    let mut walk = Walk {
        program: for_clones,
        liveness: &liveness,
        is_of_clones: true,
        visits_left: VISITS_MAX,
        reads_stale: None,
        ..walk
    };
    let (mut beginnings, mut behind): (BTreeSet<Known>, _) = (cloned(&behind).collect(), BTreeSet::new());
    loop {
        behind.extend(walk.through(route.egress, beginnings.clone())?);
        let again: BTreeSet<Known> = cloned(&behind).collect();
        if again.is_subset(&beginnings) {
            break;
        }
        beginnings.extend(again);
    }
    for body in [route.compute_checksum, route.deparser] {
        behind = walk.through(body, behind)?;
    }
    (sets.len() <= SETS_MAX).then_some(Validities {
        sets,
        reads_stale: walk.reads_stale,
    })
}

/// Applies what the architecture assigns.
fn set(values: &[(SlotId, Source)], known: &mut Known) {
    for (slot, source) in values {
        match source {
            Source::Number(number) => _ = known.constants.insert(*slot, *number),
            _ => _ = known.constants.remove(slot),
        }
    }
}

/// What clones begin with.
fn cloned(behind: &BTreeSet<Known>) -> impl Iterator<Item = Known> {
    behind.iter().filter(|known| known.is_cloned).map(|known| Known {
        valid: known.valid.clone(),
        stale: known.stale.clone(),
        constants: BTreeMap::new(),
        is_cloned: false,
    })
}

/// What matters from a block on.
#[derive(Clone, Default, PartialEq, Eq)]
struct Live {
    /// Slots, other than fields, on whose values branches depend.
    deciding: BTreeSet<SlotId>,
    /// Headers whose validity or fields are read.
    headers: BTreeSet<HeaderId>,
}

impl Live {
    fn extend(&mut self, other: &Live) {
        self.deciding.extend(&other.deciding);
        self.headers.extend(&other.headers);
    }

    fn decides(&mut self, program: &Program, expr: &Expr) {
        expr.for_each_slot(&mut |id| {
            let slot = program.slot(id);
            let is_simple = matches!(slot.kind, SlotKind::Metadata | SlotKind::Intrinsic | SlotKind::Local);
            if is_simple && slot.width <= 64 {
                self.deciding.insert(id);
            }
        });
    }

    fn is_read(&mut self, program: &Program, slot: SlotId) {
        if let SlotKind::Valid(header) | SlotKind::Field(header) = program.slot(slot).kind {
            self.headers.insert(header);
        }
    }
}

/// What matters, by body and block.
#[derive(Default)]
struct Liveness {
    before: BTreeMap<BodyId, Vec<Live>>,
}

impl Liveness {
    /// The liveness of bodies that are executed one after another.
    fn of<const N: usize>(program: &Program, bodies: [BodyId; N]) -> Liveness {
        let mut liveness = Liveness::default();
        let mut behind = Live::default();
        for body in bodies.into_iter().rev() {
            behind = liveness.body(program, body, &behind);
        }
        liveness
    }

    /// Before a body, with what matters after it.
    fn body(&mut self, program: &Program, body: BodyId, behind: &Live) -> Live {
        let blocks = &program.bodies[body.index()].blocks;
        let mut before = vec![Live::default(); blocks.len()];
        loop {
            let mut is_done = true;
            for index in (0..blocks.len()).rev() {
                let live = self.block(program, &blocks[index], &before, behind);
                is_done &= before[index] == live;
                before[index] = live;
            }
            if is_done {
                break;
            }
        }
        let first = before[0].clone();
        match self.before.get_mut(&body) {
            // An action of several tables.
            Some(known) => known
                .iter_mut()
                .zip(&before)
                .for_each(|(known, more)| known.extend(more)),
            None => _ = self.before.insert(body, before),
        }
        first
    }

    fn block(&mut self, program: &Program, block: &Block, before: &[Live], behind: &Live) -> Live {
        let mut live = match &block.terminator {
            Terminator::Return | Terminator::Exit | Terminator::Reject(_) => behind.clone(),
            _ => Live::default(),
        };
        for next in block.terminator.successors() {
            live.extend(&before[next.index()]);
        }
        for expr in block.terminator.exprs() {
            expr.for_each_slot(&mut |slot| live.is_read(program, slot));
        }
        match &block.terminator {
            Terminator::Branch { condition, .. } => live.decides(program, condition),
            Terminator::Apply { table, .. } => {
                let after = live.clone();
                for action in program.bodies_of_actions(*table) {
                    live.extend(&self.body(program, action, &after));
                }
                // An action may exit.
                live.extend(behind);
                for key in &program.tables[table.index()].keys {
                    key.expr.for_each_slot(&mut |slot| live.is_read(program, slot));
                }
            }
            _ => {}
        }
        for statement in block.statements.iter().rev() {
            match &statement.op {
                Op::Assign { slot, value } if live.deciding.remove(slot) => live.decides(program, value),
                Op::UpdateChecksum { condition, .. } => live.decides(program, condition),
                // A packet that ends here continues with what it has.
                Op::Extract { .. } | Op::Lookahead { .. } | Op::Advance { .. } => live.extend(behind),
                _ => {}
            }
            statement.op.for_each_slot_read(&mut |slot| live.is_read(program, slot));
        }
        live
    }
}

struct Walk<'a> {
    program: &'a Program,
    liveness: &'a Liveness,
    /// Whether clones are followed: nothing is known about their metadata, and their headers matter only where they are
    /// read.
    is_of_clones: bool,
    parser_error: Option<SlotId>,
    /// No values.
    nothing: State,
    visits_left: usize,
    reads_stale: Option<(Location, SlotId)>,
    /// The location of the current statement or block.
    location: Location,
}

impl Walk<'_> {
    fn through(&mut self, body: BodyId, before: BTreeSet<Known>) -> Option<BTreeSet<Known>> {
        let [returned, exited] = self.body(body, before)?;
        Some(&returned | &exited)
    }

    /// What is known where a body returns, and where it exits. A packet that the parser rejects continues with the
    /// headers that it has, and so does one that ends before a header does.
    fn body(&mut self, body: BodyId, before: BTreeSet<Known>) -> Option<[BTreeSet<Known>; 2]> {
        let program = self.program;
        let blocks = &program.bodies[body.index()].blocks;
        let mut seen = HashSet::new();
        let mut pending: Vec<(BlockId, Known)> = before.into_iter().map(|known| (BlockId(0), known)).collect();
        let [mut returned, mut exited] = [BTreeSet::new(), BTreeSet::new()];
        while let Some((id, mut known)) = pending.pop() {
            self.retain(body, id, &mut known);
            if !seen.insert((id, known.clone())) {
                continue;
            }
            self.visits_left = self.visits_left.checked_sub(1)?;
            let block = &blocks[id.index()];
            for statement in &block.statements {
                for error in statement.op.parser_errors() {
                    returned.insert(self.rejected(known.clone(), program.error(error)));
                }
                self.location = statement.location;
                self.op(&statement.op, &mut known);
            }
            self.location = block.location;
            (block.terminator.exprs().into_iter()).for_each(|expr| self.read(expr, &known));
            match &block.terminator {
                Terminator::Return => _ = returned.insert(known),
                Terminator::Reject(error) => {
                    let error = self.value(error, &known).map(|error| error.to_u64() as u32);
                    returned.insert(self.rejected(known, error));
                }
                Terminator::Exit => _ = exited.insert(known),
                Terminator::Apply { table, next, .. } => {
                    let written = block.terminator.slots_written(program);
                    written.for_each(|slot| _ = known.constants.remove(&slot));
                    let declared = &program.tables[table.index()];
                    declared.keys.iter().for_each(|key| self.read(&key.expr, &known));
                    for action in program.bodies_of_actions(*table) {
                        let [done, left] = self.body(action, BTreeSet::from([known.clone()]))?;
                        pending.extend(done.into_iter().map(|known| (*next, known)));
                        exited.extend(left);
                    }
                }
                Terminator::Branch {
                    condition,
                    then_block,
                    else_block,
                } => {
                    let holds = self.decided(condition, &known);
                    let paths = [(true, *then_block), (false, *else_block)].into_iter();
                    let paths = paths.filter(|(path, _)| holds.is_none_or(|holds| holds == *path));
                    pending.extend(paths.map(|(_, next)| (next, known.clone())));
                }
                terminator => {
                    let successors = terminator.successors().into_iter();
                    pending.extend(successors.map(|next| (next, known.clone())));
                }
            }
        }
        Some([returned, exited])
    }

    /// What is known of a packet that the parser rejects with this error.
    fn rejected(&self, mut known: Known, error: Option<u32>) -> Known {
        if let Some(slot) = self.parser_error {
            match error {
                Some(error) => _ = known.constants.insert(slot, error.into()),
                None => _ = known.constants.remove(&slot),
            }
        }
        known
    }

    /// Forgets what does not matter from a block on.
    fn retain(&self, body: BodyId, block: BlockId, known: &mut Known) {
        let live = self.liveness.before.get(&body).map(|before| &before[block.index()]);
        match live {
            Some(live) if self.is_of_clones => {
                known.constants.clear();
                known.valid.retain(&live.headers);
                known.stale.retain(&live.headers);
            }
            Some(live) => known.constants.retain(|slot, _| live.deciding.contains(slot)),
            None => known.constants.clear(),
        }
    }

    fn op(&mut self, op: &Op, known: &mut Known) {
        match op {
            Op::UpdateChecksum { condition, .. } if self.decided(condition, known) == Some(false) => return,
            Op::Extract { header, .. } => {
                known.valid.insert(*header);
                known.stale.remove(*header);
            }
            Op::Hash { .. } | Op::UpdateChecksum { .. } | Op::VerifyChecksum { .. } => {
                op.for_each_slot_read(&mut |slot| self.read_slot(slot, known));
            }
            op => (op.exprs().into_iter()).for_each(|expr| self.read(expr, known)),
        }
        known.is_cloned |= matches!(op, Op::Clone { .. });
        let Some(target) = op.target() else { return };
        match self.program.slot(target).kind {
            SlotKind::Field(header) if !known.valid.contains(header) => known.stale.insert(header),
            SlotKind::Valid(header) if self.is_set(op, known) => {
                known.valid.insert(header);
                known.stale.remove(header);
            }
            SlotKind::Valid(header) if known.valid.remove(header) => known.stale.insert(header),
            SlotKind::Metadata | SlotKind::Intrinsic | SlotKind::Local => match self.assigned(op, known) {
                Some(value) => _ = known.constants.insert(target, value),
                None => _ = known.constants.remove(&target),
            },
            _ => {}
        }
    }

    /// The constant that an operation assigns.
    fn assigned(&self, op: &Op, known: &Known) -> Option<u64> {
        let Op::Assign { value, .. } = op else { return None };
        self.value(value, known)?.try_to_u64()
    }

    /// Whether the operation sets its target, a validity bit.
    fn is_set(&self, op: &Op, known: &Known) -> bool {
        match op {
            Op::Assign { value, .. } => self.decided(value, known).unwrap_or(true),
            _ => true,
        }
    }

    /// Whether a condition holds, if that is known.
    fn decided(&self, condition: &Expr, known: &Known) -> Option<bool> {
        self.value(condition, known).map(|value| !value.is_zero())
    }

    /// The value of an expression, if it is known.
    fn value(&self, expr: &Expr, known: &Known) -> Option<Bits> {
        match expr {
            Expr::Const(value) => Some(value.clone()),
            Expr::Slot(slot) => {
                let declared = self.program.slot(*slot);
                match declared.kind {
                    SlotKind::Valid(header) => Some(Bits::from_bool(known.valid.contains(header))),
                    _ => {
                        let constant = known.constants.get(slot)?;
                        Some(Bits::new(declared.width, (*constant).into()))
                    }
                }
            }
            Expr::Param { .. } => None,
            Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) => {
                let values = [left, right].map(|operand| self.value(operand, known));
                // One operand can be enough.
                let decides = |value: &Bits| match op {
                    BinaryOp::And => value.is_zero(),
                    _ => value == &Bits::ones(value.width()),
                };
                match values {
                    [Some(left), Some(right)] => Some(op.apply(&left, &right)),
                    [Some(one), None] | [None, Some(one)] => decides(&one).then_some(one),
                    [None, None] => None,
                }
            }
            Expr::Mux {
                condition,
                then_value,
                else_value,
            } => {
                if self.decided(condition, known)? {
                    self.value(then_value, known)
                } else {
                    self.value(else_value, known)
                }
            }
            Expr::Binary(op, left, right) => Some(op.apply(&self.value(left, known)?, &self.value(right, known)?)),
            _ => {
                let mut expr = expr.clone();
                let mut all_known = true;
                expr.for_each_operand_mut(&mut |operand| match self.value(operand, known) {
                    Some(value) => *operand = Expr::Const(value),
                    None => all_known = false,
                });
                all_known.then(|| eval(&expr, &self.nothing, &[]))
            }
        }
    }

    /// Records whether a value depends on a field that was written while its header was invalid.
    fn read(&mut self, expr: &Expr, known: &Known) {
        match expr {
            Expr::Slot(slot) => self.read_slot(*slot, known),
            Expr::Mux {
                condition,
                then_value,
                else_value,
            } if let Some(holds) = self.decided(condition, known) => {
                self.read(if holds { then_value } else { else_value }, known);
            }
            Expr::Binary(BinaryOp::And | BinaryOp::Or, ..) if self.value(expr, known).is_some() => {}
            Expr::Binary(_, left, right) | Expr::Concat(left, right) => {
                [left, right].into_iter().for_each(|operand| self.read(operand, known));
            }
            Expr::Unary(_, operand)
            | Expr::Slice { operand, .. }
            | Expr::ZeroExtend(_, operand)
            | Expr::SignExtend(_, operand)
            | Expr::Truncate(_, operand) => self.read(operand, known),
            _ => expr.for_each_slot(&mut |slot| self.read_slot(slot, known)),
        }
    }

    fn read_slot(&mut self, slot: SlotId, known: &Known) {
        if self.is_stale(slot, known) {
            self.reads_stale.get_or_insert((self.location, slot));
        }
    }

    fn is_stale(&self, slot: SlotId, known: &Known) -> bool {
        matches!(self.program.slot(slot).kind, SlotKind::Field(header) if known.stale.contains(header))
    }
}
