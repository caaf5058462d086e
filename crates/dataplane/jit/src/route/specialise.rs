//! Specialises a program for known values of slots after the parser.

use super::known::Known;
use super::{Pass, Route};
use forebay_bits::Bits;
use forebay_ir::{Block, Expr, HeaderId, Op, Program, SlotId, SlotKind, Terminator, passes};
use std::collections::{BTreeMap, BTreeSet};

/// The result of [`specialise`].
pub(super) struct Special {
    pub(super) program: Program,
    /// The headers that the deparser emits if they are valid, when it has no conditions.
    pub(super) emitted: Option<Vec<HeaderId>>,
}

/// Replaces slots whose values are known and constant by these values.
pub(super) fn specialise(program: &Program, route: &Route, known: &BTreeMap<SlotId, Bits>) -> Special {
    let mut program = program.clone();
    program.bodies[route.parser.index()].blocks = vec![Block::new(Vec::new(), Terminator::Return)];
    let written = written(&program, route);
    let constant: BTreeMap<SlotId, Bits> = known
        .iter()
        .filter(|(slot, _)| !written.contains(slot))
        .map(|(slot, value)| (*slot, value.clone()))
        .collect();
    substitute(&mut program, &constant);
    if !route.without.has(Pass::Folding) {
        passes::optimize(&mut program);
    }
    Special {
        emitted: emitted(&program, route),
        program,
    }
}

/// An expression with known values put in, simplified.
pub(super) fn fold(expr: &Expr, known: &Known, program: &Program) -> Expr {
    let mut expr = expr.clone();
    substitute_expr(&mut expr, &|slot| known.get(slot));
    passes::fold_expr(&mut expr, program);
    expr
}

/// Does this for all expressions of an operation.
pub(super) fn substitute_op(op: &mut Op, known: &Known, program: &Program) {
    for expr in op.exprs_mut() {
        *expr = fold(expr, known, program);
    }
}

fn substitute_expr<'k>(expr: &mut Expr, known: &impl Fn(SlotId) -> Option<&'k Bits>) {
    if let Expr::Slot(slot) = expr {
        if let Some(value) = known(*slot) {
            *expr = Expr::Const(value.clone());
        }
        return;
    }
    expr.for_each_operand_mut(&mut |operand| substitute_expr(operand, known));
}

fn substitute(program: &mut Program, known: &BTreeMap<SlotId, Bits>) {
    let value = |slot| known.get(&slot);
    for key in program.tables.iter_mut().flat_map(|table| &mut table.keys) {
        substitute_expr(&mut key.expr, &value);
    }
    let headers = &program.headers;
    let is_invalid = |header: &HeaderId| known.get(&headers[header.index()].valid).is_some_and(Bits::is_zero);
    for block in program.bodies.iter_mut().flat_map(|body| &mut body.blocks) {
        block
            .statements
            .retain(|statement| !matches!(&statement.op, Op::Emit { header } if is_invalid(header)));
        block.exprs_mut().for_each(|expr| substitute_expr(expr, &value));
    }
}

/// Slots that the bodies after the parser write, or the architecture between them.
pub(super) fn written(program: &Program, route: &Route) -> BTreeSet<SlotId> {
    let sources = route.before_egress.iter().chain(route.before_copy());
    let mut written: BTreeSet<SlotId> = sources.map(|(slot, _)| *slot).collect();
    written.extend(route.checksum_error);
    for body in route.bodies_with_actions(program) {
        written.extend(program.bodies[body.index()].slots_written(program));
    }
    written
}

/// The headers that the deparser emits if they are valid, when it has no conditions.
pub(super) fn emitted(program: &Program, route: &Route) -> Option<Vec<HeaderId>> {
    let [block] = &program.bodies[route.deparser.index()].blocks[..] else {
        return None;
    };
    let mut emitted = Vec::new();
    for statement in &block.statements {
        match statement.op {
            Op::Emit { header } => emitted.push(header),
            Op::Assign { slot, .. } if !matches!(program.slot(slot).kind, SlotKind::Field(_) | SlotKind::Valid(_)) => {}
            Op::LogMessage { .. } => {}
            _ => return None,
        }
    }
    Some(emitted)
}
