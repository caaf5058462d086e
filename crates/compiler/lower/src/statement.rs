//! Statements.

use crate::assign;
use crate::build;
use crate::call;
use crate::context::Context;
use crate::environment::Binding;
use crate::expression;
use crate::graph;
use crate::limits;
use crate::loops;
use crate::operator;
use crate::place::{self, Place};
use crate::storage::{self, Storage};
use crate::switch;
use crate::types;
use forebay_check::annotations;
use forebay_check::hir::{self, Annotations, Block, ExprKind, Statement, StatementKind, Type};
use forebay_ir::{Op, Role};
use forebay_syntax::ast::BinaryOp;
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use num_traits::ToPrimitive;

/// Lowers a block.
pub fn block(cx: &mut Context, block: &Block) {
    atomically(cx, &block.annotations, |cx| statements(cx, &block.statements));
}

/// Lowers something that annotations may mark as an atomic section (P4_16 §18.4.1). A section within another one is
/// part of it. A section that is left early ends when the body ends, or the next section begins.
pub fn atomically(cx: &mut Context, annotations: &Annotations, inner: impl FnOnce(&mut Context)) {
    if !annotations::has(annotations, "atomic") {
        return inner(cx);
    }
    if cx.body.atomic_depth == 0 {
        graph::emit(cx, Op::EnterAtomic { lock: 0, index: None });
    }
    cx.body.atomic_depth += 1;
    inner(cx);
    cx.body.atomic_depth -= 1;
    if cx.body.atomic_depth == 0 {
        graph::emit(cx, Op::LeaveAtomic);
    }
}

/// Lowers statements in order; unreachable ones are left out.
pub fn statements(cx: &mut Context, statements: &[Statement]) {
    for statement in statements {
        forebay_budget::check();
        if cx.aborted || !graph::is_reachable(cx) || !limits::check_size(cx, statement.span) {
            return;
        }
        cx.go_to(statement.span);
        limits::deeper(cx, statement.span, |cx| lower(cx, statement));
    }
}

fn lower(cx: &mut Context, statement: &Statement) {
    match &statement.kind {
        StatementKind::Assign {
            target,
            value,
            compound,
        } => assignment(cx, target, value, *compound),
        StatementKind::Call(expr) => match &expr.kind {
            ExprKind::Call(inner) => {
                call::call(cx, inner, expr.span);
            }
            _ => {
                expression::expression(cx, expr);
            }
        },
        StatementKind::If { branches, otherwise } => alternatives(cx, branches, otherwise),
        StatementKind::Block(inner) => block(cx, inner),
        StatementKind::SwitchAction { apply, cases } => switch::on_action(cx, apply, cases),
        StatementKind::Switch { expr, cases } => switch::on_value(cx, expr, cases),
        StatementKind::Return(value) => return_value(cx, value.as_ref()),
        StatementKind::Exit => graph::exit(cx),
        StatementKind::Break => loops::leave(cx, |targets| targets.break_block),
        StatementKind::Continue => loops::leave(cx, |targets| targets.continue_block),
        StatementKind::For {
            init,
            condition,
            update,
            body,
        } => loops::general(cx, init, condition, update, body),
        StatementKind::ForRange {
            variable,
            low,
            high,
            body,
        } => loops::range(cx, *variable, low, high, body),
        StatementKind::ForIn {
            variable,
            collection,
            body,
        } => loops::collection(cx, *variable, collection, body),
        StatementKind::Var(var, value) => variable(cx, *var, value.as_ref()),
        // Already elaborated with the parser or control around it.
        StatementKind::Instance(_) => {}
    }
}

/// An `if` with all of its `else if`: each condition is evaluated where the ones before it do not hold, and all bodies
/// end in one block.
fn alternatives(cx: &mut Context, branches: &[hir::Branch], otherwise: &hir::Block) {
    let mut after = None;
    let around = cx.unreached;
    for branch in branches {
        forebay_budget::check();
        if !limits::check_size(cx, branch.span) {
            return;
        }
        cx.go_to(branch.span);
        let condition = expression::scalar(cx, &branch.condition);
        let known = build::as_bool(&condition);
        let holds = graph::new_block(cx);
        let next = graph::new_block(cx);
        let after = *after.get_or_insert_with(|| graph::new_block(cx));
        graph::branch(cx, condition, holds, next);
        graph::start(cx, holds);
        let before = cx.unreached;
        cx.unreached += usize::from(known == Some(false));
        block(cx, &branch.body);
        cx.unreached = before + usize::from(known == Some(true));
        graph::jump(cx, after);
        graph::start(cx, next);
    }
    block(cx, otherwise);
    cx.unreached = around;
    if let Some(after) = after {
        graph::jump(cx, after);
        graph::start(cx, after);
    }
}

fn assignment(cx: &mut Context, target: &hir::Expr, value: &hir::Expr, compound: bool) {
    let place = place::place(cx, target);
    warn_in_vain(cx, target, &place, value);
    let value = match operator_of(target, value).filter(|_| compound) {
        Some((op, right)) => {
            let left = place::read(cx, &place, &target.ty);
            let left = if expression::has_effects(right) {
                graph::save(cx, left)
            } else {
                left
            };
            let right = expression::expression(cx, right);
            let signed = types::is_signed(cx, &target.ty);
            operator::apply(cx, op, left, right, signed, value.span)
        }
        None => expression::expression(cx, value),
    };
    assign::write(cx, &place, value);
}

/// What drops a packet of v1model as its `egress_spec`.
const DROP_PORT: u32 = 511;

/// Warns when ingress writes what the traffic manager sets after it, or egress what the traffic manager has read.
fn warn_in_vain(cx: &mut Context, target: &hir::Expr, place: &Place, value: &hir::Expr) {
    let Some(Storage::Scalar(slot)) = place.as_storage() else {
        return;
    };
    if !matches!(target.kind, ExprKind::Field(..)) {
        return;
    }
    if matches!(cx.role, Some(Role::Ingress | Role::Egress)) {
        cx.assigned.entry(*slot).or_insert(target.span);
    }
    let drops = matches!(&value.kind, ExprKind::Int(port) if port.to_u32() == Some(DROP_PORT));
    let is_intrinsic = |name: &str| cx.program.intrinsic.get(name) == Some(slot);
    let (message, hint) = match cx.role {
        Some(Role::Ingress) if is_intrinsic("egress_port") => (
            "writing `egress_port` in ingress has no effect",
            "write `egress_spec`: the packet leaves by that port",
        ),
        Some(Role::Egress) if is_intrinsic("egress_spec") && !drops => (
            "writing `egress_spec` in egress does not change the port",
            "choose the port in ingress; in egress only 511 has a meaning, which drops the packet",
        ),
        _ => return,
    };
    cx.diagnostics
        .push(Diagnostic::warning(codes::WRITTEN_IN_VAIN, target.span, message).hint(hint));
}

/// Operator and right operand of an assignment `target op= right`, which the checker has converted to `target = target
/// op right`. Needed when evaluating the target has effects, which must not happen twice.
fn operator_of<'e>(target: &hir::Expr, value: &'e hir::Expr) -> Option<(BinaryOp, &'e hir::Expr)> {
    match &value.kind {
        ExprKind::Binary(_, links) if expression::has_effects(target) => {
            links.last().map(|link| (link.op, &link.right))
        }
        _ => None,
    }
}

fn return_value(cx: &mut Context, value: Option<&hir::Expr>) {
    if let Some(value) = value {
        let value = expression::expression(cx, value);
        let result = cx.body.calls.last().and_then(|call| call.result.clone());
        if let Some(result) = result {
            assign::write_whole(cx, &result, value);
        }
    }
    graph::return_from_call(cx);
}

/// A declaration: new storage, with the initial value or, for what has validity, reset.
pub fn variable(cx: &mut Context, var: hir::VarId, value: Option<&hir::Expr>) {
    let storage = declare(cx, var);
    initialise(cx, &storage, value);
}

/// New storage for a local variable of the body being lowered.
pub fn declare(cx: &mut Context, var: hir::VarId) -> storage::Storage {
    let declaration = &cx.hir.vars[var.index()];
    let ty = types::resolve(cx, &declaration.ty);
    if matches!(ty, Type::Int | Type::String) {
        return storage::Storage::Nothing;
    }
    let name = format!("{}.{}", cx.body.scope(), declaration.name);
    let storage = storage::local(cx, &ty, &name, declaration.span);
    cx.environment.bind(var, Binding::Storage(storage.clone()));
    storage
}

/// Appends the effects of executing a declaration.
pub fn initialise(cx: &mut Context, storage: &storage::Storage, value: Option<&hir::Expr>) {
    match value {
        Some(value) => {
            let value = expression::expression(cx, value);
            assign::write_whole(cx, storage, value);
        }
        None => storage::reset(cx, storage),
    }
}
