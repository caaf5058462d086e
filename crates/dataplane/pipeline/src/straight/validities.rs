//! Which headers may be valid together after egress, and whether the values of invalid headers can be observed there.
//!
//! Walks the blocks of bodies with the sets of valid headers. Conditions on validity are decided where possible.

use forebay_ir::{BinaryOp, BlockId, BodyId, Expr, HeaderId, Op, Program, SlotId, SlotKind, Terminator, UnaryOp};
use std::collections::BTreeSet;

/// Headers that are valid together.
pub(super) type Valid = BTreeSet<HeaderId>;

/// The most visits of a block with a set of headers.
const VISITS_MAX: usize = 10_000;

/// The most sets of headers.
const SETS_MAX: usize = 256;

/// What is known about headers at a position.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Headers {
    valid: Valid,
    /// Invalid headers that have been given values.
    stale: Valid,
}

/// The validities after bodies that are executed one after another, the last of which is egress.
pub(super) struct Validities {
    /// The headers that may be valid together.
    pub(super) sets: BTreeSet<Valid>,
    /// Whether egress or what follows it may read values of headers that were invalid after egress, if it is executed
    /// again for such packets.
    pub(super) reads_stale: bool,
}

/// Finds the validities for packets that begin without valid headers; `None` when there are too many paths.
pub(super) fn behind(program: &Program, bodies: &[BodyId], following: &[BodyId]) -> Option<Validities> {
    let egress = bodies.last().expect("egress is among them");
    let mut walk = Walk {
        program,
        visits_left: VISITS_MAX,
        reads_stale: false,
    };
    let mut behind = BTreeSet::from([Headers::default()]);
    for body in bodies {
        behind = walk.through(*body, behind)?;
    }
    let sets: BTreeSet<Valid> = behind.iter().map(|headers| headers.valid.clone()).collect();
    walk.reads_stale = false;
    loop {
        let again = walk.through(*egress, behind.clone())?;
        if again.is_subset(&behind) {
            break;
        }
        behind.extend(again);
    }
    for body in following {
        behind = walk.through(*body, behind)?;
    }
    (sets.len() <= SETS_MAX).then_some(Validities {
        sets,
        reads_stale: walk.reads_stale,
    })
}

struct Walk<'a> {
    program: &'a Program,
    visits_left: usize,
    reads_stale: bool,
}

impl Walk<'_> {
    fn through(&mut self, body: BodyId, before: BTreeSet<Headers>) -> Option<BTreeSet<Headers>> {
        let [returned, exited] = self.body(body, before)?;
        Some(&returned | &exited)
    }

    /// The headers where a body returns, and where it exits.
    fn body(&mut self, body: BodyId, before: BTreeSet<Headers>) -> Option<[BTreeSet<Headers>; 2]> {
        let program = self.program;
        let blocks = &program.bodies[body.index()].blocks;
        let mut seen = BTreeSet::new();
        let mut pending: Vec<(BlockId, Headers)> = before.into_iter().map(|headers| (BlockId(0), headers)).collect();
        let [mut returned, mut exited] = [BTreeSet::new(), BTreeSet::new()];
        while let Some((id, mut headers)) = pending.pop() {
            if !seen.insert((id, headers.clone())) {
                continue;
            }
            self.visits_left = self.visits_left.checked_sub(1)?;
            let block = &blocks[id.index()];
            for statement in &block.statements {
                self.op(&statement.op, &mut headers);
            }
            (block.terminator.exprs().into_iter()).for_each(|expr| self.read(expr, &headers));
            match &block.terminator {
                Terminator::Return => _ = returned.insert(headers),
                Terminator::Exit => _ = exited.insert(headers),
                Terminator::Apply { table, next, .. } => {
                    let table = &program.tables[table.index()];
                    table.keys.iter().for_each(|key| self.read(&key.expr, &headers));
                    for listed in &table.actions {
                        let action = &program.actions[listed.action.index()];
                        let [done, left] = self.body(action.body, BTreeSet::from([headers.clone()]))?;
                        pending.extend(done.into_iter().map(|headers| (*next, headers)));
                        exited.extend(left);
                    }
                }
                Terminator::Branch {
                    condition,
                    then_block,
                    else_block,
                } => {
                    let holds = self.known(condition, &headers);
                    let ways = [(true, *then_block), (false, *else_block)].into_iter();
                    let ways = ways.filter(|(way, _)| holds.is_none_or(|holds| holds == *way));
                    pending.extend(ways.map(|(_, next)| (next, headers.clone())));
                }
                terminator => {
                    let successors = terminator.successors().into_iter();
                    pending.extend(successors.map(|next| (next, headers.clone())));
                }
            }
        }
        Some([returned, exited])
    }

    fn op(&mut self, op: &Op, headers: &mut Headers) {
        match op {
            Op::UpdateChecksum { condition, .. } if self.known(condition, headers) == Some(false) => return,
            Op::Extract { header, .. } => {
                headers.valid.insert(*header);
                headers.stale.remove(header);
            }
            Op::Hash { .. } | Op::UpdateChecksum { .. } | Op::VerifyChecksum { .. } => {
                op.for_each_slot_read(&mut |slot| self.reads_stale |= self.is_stale(slot, headers));
            }
            op => (op.exprs().into_iter()).for_each(|expr| self.read(expr, headers)),
        }
        let Some(target) = op.target() else { return };
        match self.program.slot(target).kind {
            SlotKind::Field(header) if !headers.valid.contains(&header) => _ = headers.stale.insert(header),
            SlotKind::Valid(header) if self.is_set(op, headers) => {
                headers.valid.insert(header);
                headers.stale.remove(&header);
            }
            SlotKind::Valid(header) if headers.valid.remove(&header) => _ = headers.stale.insert(header),
            _ => {}
        }
    }

    /// Whether the operation sets its target, a validity bit, to 1.
    fn is_set(&self, op: &Op, headers: &Headers) -> bool {
        match op {
            Op::Assign { value, .. } => self.known(value, headers).unwrap_or(true),
            _ => true,
        }
    }

    /// The value of a bit, if the validities determine it.
    fn known(&self, expr: &Expr, headers: &Headers) -> Option<bool> {
        match expr {
            Expr::Const(value) => Some(!value.is_zero()),
            Expr::Slot(slot) => match self.program.slot(*slot).kind {
                SlotKind::Valid(header) => Some(headers.valid.contains(&header)),
                _ => None,
            },
            Expr::Unary(UnaryOp::Not, operand) => self.known(operand, headers).map(|value| !value),
            Expr::Binary(BinaryOp::And, left, right) => {
                match [left, right].map(|operand| self.known(operand, headers)) {
                    [Some(false), _] | [_, Some(false)] => Some(false),
                    [Some(true), Some(true)] => Some(true),
                    _ => None,
                }
            }
            Expr::Binary(BinaryOp::Or, left, right) => {
                match [left, right].map(|operand| self.known(operand, headers)) {
                    [Some(true), _] | [_, Some(true)] => Some(true),
                    [Some(false), Some(false)] => Some(false),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Records whether a value depends on values of an invalid header.
    fn read(&mut self, expr: &Expr, headers: &Headers) {
        match expr {
            Expr::Slot(slot) => self.reads_stale |= self.is_stale(*slot, headers),
            Expr::Mux {
                condition,
                then_value,
                else_value,
            } if let Some(holds) = self.known(condition, headers) => {
                self.read(if holds { then_value } else { else_value }, headers);
            }
            Expr::Binary(BinaryOp::And | BinaryOp::Or, ..) if self.known(expr, headers).is_some() => {}
            Expr::Binary(_, left, right) | Expr::Concat(left, right) => {
                [left, right]
                    .into_iter()
                    .for_each(|operand| self.read(operand, headers));
            }
            Expr::Unary(_, operand)
            | Expr::Slice { operand, .. }
            | Expr::ZeroExtend(_, operand)
            | Expr::SignExtend(_, operand)
            | Expr::Truncate(_, operand) => self.read(operand, headers),
            _ => expr.for_each_slot(&mut |slot| self.reads_stale |= self.is_stale(slot, headers)),
        }
    }

    fn is_stale(&self, slot: SlotId, headers: &Headers) -> bool {
        matches!(self.program.slot(slot).kind, SlotKind::Field(header) if headers.stale.contains(&header))
    }
}
