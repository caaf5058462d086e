//! Which headers may be valid together in packets that egress clones, and whether clones observe the values of invalid headers.
//!
//! Walks the blocks of bodies with the sets of valid headers. Branches are decided where their conditions depend only on validity and on slots
//! that were assigned constants, such as a flag that says whether to clone the packet.

use forebay_bits::Bits;
use forebay_exec::{State, eval};
use forebay_ir::{BinaryOp, BlockId, BodyId, Expr, HeaderId, Op, Program, SlotId, SlotKind, Terminator};
use forebay_jit::route::{Route, Source};
use std::collections::{BTreeMap, BTreeSet};

/// Headers that are valid together.
pub(super) type Valid = BTreeSet<HeaderId>;

/// The most visits of a block with what is known there.
const VISITS_MAX: usize = 20_000;

/// The most sets of headers.
const SETS_MAX: usize = 256;

/// What is known at a position.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Known {
    valid: Valid,
    /// Invalid headers that have been given values.
    stale: Valid,
    /// The values of slots that decide.
    constants: BTreeMap<SlotId, u64>,
    /// Whether egress has cloned the packet.
    is_cloned: bool,
}

/// The headers of packets that egress clones.
pub(super) struct Validities {
    /// The headers that may be valid together behind egress.
    pub(super) sets: BTreeSet<Valid>,
    /// Whether a clone may read, in egress or later, values of headers that are invalid.
    pub(super) reads_stale: bool,
}

/// Finds the validities of arriving packets; `None` when there are too many paths. `for_clones` is the program as clones from egress execute it.
pub(super) fn of_clones(program: &Program, for_clones: &Program, route: &Route) -> Option<Validities> {
    let deciding = deciding(program, route);
    // Constants exclude paths that no packet takes, but paths that differ only in constants are walked one by one.
    find(program, for_clones, route, &deciding).or_else(|| find(program, for_clones, route, &BTreeSet::new()))
}

fn find(program: &Program, for_clones: &Program, route: &Route, deciding: &BTreeSet<SlotId>) -> Option<Validities> {
    let mut walk = Walk {
        program,
        deciding,
        nothing: State::new(&Program::new(program.architecture)),
        visits_left: VISITS_MAX,
        reads_stale: false,
    };
    let mut known = Known {
        constants: deciding.iter().map(|slot| (*slot, 0)).collect(),
        ..Known::default()
    };
    walk.set(&route.before_parser, &mut known);
    let mut behind = BTreeSet::from([known]);
    for body in [route.parser, route.verify_checksum, route.ingress] {
        behind = walk.through(body, behind)?;
    }
    // A clone from ingress is none from egress.
    let before_egress = behind.into_iter().map(|mut known| {
        walk.set(&route.before_egress, &mut known);
        Known {
            is_cloned: false,
            ..known
        }
    });
    let before_egress: BTreeSet<Known> = before_egress.collect();
    let behind = walk.through(route.egress, before_egress)?;
    let sets: BTreeSet<Valid> = cloned(&behind).map(|known| known.valid).collect();
    let nothing_decides = BTreeSet::new();
    let mut walk = Walk {
        program: for_clones,
        deciding: &nothing_decides,
        reads_stale: false,
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

/// What clones begin with.
fn cloned(behind: &BTreeSet<Known>) -> impl Iterator<Item = Known> {
    behind.iter().filter(|known| known.is_cloned).map(|known| Known {
        valid: known.valid.clone(),
        stale: known.stale.clone(),
        ..Known::default()
    })
}

/// The slots, of those that are no fields, on which branches depend.
fn deciding(program: &Program, route: &Route) -> BTreeSet<SlotId> {
    let mut bodies = vec![route.parser, route.verify_checksum, route.ingress, route.egress];
    let mut deciding = BTreeSet::new();
    let mut assigned = Vec::new();
    let mut next = 0;
    while let Some(body) = bodies.get(next) {
        next += 1;
        for block in &program.bodies[body.index()].blocks {
            for statement in &block.statements {
                if let Op::Assign { slot, value } = &statement.op {
                    assigned.push((*slot, value));
                }
            }
            match &block.terminator {
                Terminator::Branch { condition, .. } => condition.for_each_slot(&mut |slot| _ = deciding.insert(slot)),
                Terminator::Apply { table, .. } => {
                    let actions = program.tables[table.index()].actions.iter();
                    for listed in actions {
                        let body = program.actions[listed.action.index()].body;
                        if !bodies.contains(&body) {
                            bodies.push(body);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    loop {
        let before = deciding.len();
        for (slot, value) in &assigned {
            if deciding.contains(slot) {
                value.for_each_slot(&mut |slot| _ = deciding.insert(slot));
            }
        }
        if deciding.len() == before {
            break;
        }
    }
    let counts = |slot: &SlotId| {
        let slot = program.slot(*slot);
        slot.width <= 64 && matches!(slot.kind, SlotKind::Metadata | SlotKind::Intrinsic | SlotKind::Local)
    };
    deciding.into_iter().filter(counts).collect()
}

struct Walk<'a> {
    program: &'a Program,
    /// The slots whose constants are known.
    deciding: &'a BTreeSet<SlotId>,
    /// No values.
    nothing: State,
    visits_left: usize,
    reads_stale: bool,
}

impl Walk<'_> {
    fn through(&mut self, body: BodyId, before: BTreeSet<Known>) -> Option<BTreeSet<Known>> {
        let [returned, exited] = self.body(body, before)?;
        Some(&returned | &exited)
    }

    /// Applies what the architecture assigns.
    fn set(&self, values: &[(SlotId, Source)], known: &mut Known) {
        for (slot, source) in values.iter().filter(|(slot, _)| self.deciding.contains(slot)) {
            match source {
                Source::Number(number) => _ = known.constants.insert(*slot, *number),
                _ => _ = known.constants.remove(slot),
            }
        }
    }

    /// What is known where a body returns, and where it exits. A packet that the parser rejects continues with the headers that it has, and so
    /// does one that ends before a header does.
    fn body(&mut self, body: BodyId, before: BTreeSet<Known>) -> Option<[BTreeSet<Known>; 2]> {
        let program = self.program;
        let blocks = &program.bodies[body.index()].blocks;
        let mut seen = BTreeSet::new();
        let mut pending: Vec<(BlockId, Known)> = before.into_iter().map(|known| (BlockId(0), known)).collect();
        let [mut returned, mut exited] = [BTreeSet::new(), BTreeSet::new()];
        while let Some((id, mut known)) = pending.pop() {
            if !seen.insert((id, known.clone())) {
                continue;
            }
            self.visits_left = self.visits_left.checked_sub(1)?;
            let block = &blocks[id.index()];
            for statement in &block.statements {
                if matches!(
                    statement.op,
                    Op::Extract { .. } | Op::Lookahead { .. } | Op::Advance { .. }
                ) {
                    returned.insert(known.clone());
                }
                self.op(&statement.op, &mut known);
            }
            (block.terminator.exprs().into_iter()).for_each(|expr| self.read(expr, &known));
            match &block.terminator {
                Terminator::Return | Terminator::Reject(_) => _ = returned.insert(known),
                Terminator::Exit => _ = exited.insert(known),
                Terminator::Apply {
                    table,
                    hit,
                    action_run,
                    next,
                } => {
                    hit.iter()
                        .chain(action_run)
                        .for_each(|slot| _ = known.constants.remove(slot));
                    let table = &program.tables[table.index()];
                    table.keys.iter().for_each(|key| self.read(&key.expr, &known));
                    for listed in &table.actions {
                        let action = &program.actions[listed.action.index()];
                        let [done, left] = self.body(action.body, BTreeSet::from([known.clone()]))?;
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
                    let ways = [(true, *then_block), (false, *else_block)].into_iter();
                    let ways = ways.filter(|(way, _)| holds.is_none_or(|holds| holds == *way));
                    pending.extend(ways.map(|(_, next)| (next, known.clone())));
                }
                terminator => {
                    let successors = terminator.successors().into_iter();
                    pending.extend(successors.map(|next| (next, known.clone())));
                }
            }
        }
        Some([returned, exited])
    }

    fn op(&mut self, op: &Op, known: &mut Known) {
        match op {
            Op::UpdateChecksum { condition, .. } if self.decided(condition, known) == Some(false) => return,
            Op::Extract { header, .. } => {
                known.valid.insert(*header);
                known.stale.remove(header);
            }
            Op::Hash { .. } | Op::UpdateChecksum { .. } | Op::VerifyChecksum { .. } => {
                op.for_each_slot_read(&mut |slot| self.reads_stale |= self.is_stale(slot, known));
            }
            op => (op.exprs().into_iter()).for_each(|expr| self.read(expr, known)),
        }
        known.is_cloned |= matches!(op, Op::Clone { .. });
        let Some(target) = op.target() else { return };
        match self.program.slot(target).kind {
            SlotKind::Field(header) if !known.valid.contains(&header) => _ = known.stale.insert(header),
            SlotKind::Valid(header) if self.is_set(op, known) => {
                known.valid.insert(header);
                known.stale.remove(&header);
            }
            SlotKind::Valid(header) if known.valid.remove(&header) => _ = known.stale.insert(header),
            _ if self.deciding.contains(&target) => match self.assigned(op, known) {
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
                    SlotKind::Valid(header) => Some(Bits::from_bool(known.valid.contains(&header))),
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
            } => match self.decided(condition, known)? {
                true => self.value(then_value, known),
                false => self.value(else_value, known),
            },
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

    /// Notes whether a value depends on what an invalid header has got.
    fn read(&mut self, expr: &Expr, known: &Known) {
        match expr {
            Expr::Slot(slot) => self.reads_stale |= self.is_stale(*slot, known),
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
            _ => expr.for_each_slot(&mut |slot| self.reads_stale |= self.is_stale(slot, known)),
        }
    }

    fn is_stale(&self, slot: SlotId, known: &Known) -> bool {
        matches!(self.program.slot(slot).kind, SlotKind::Field(header) if known.stale.contains(&header))
    }
}
