//! Control-plane names.
//!
//! A table `t` of the control `MyIngress` is `MyIngress.t`; one of its sub-control instance `sub` is
//! `MyIngress.sub.t`. Top-level declarations have their plain names. `@name("x")` replaces the last part,
//! `@name(".x")` the whole name.

use crate::context::Context;
use forebay_check::annotations;
use forebay_check::hir::{self, Callee, Expr, ExprKind, Type, operands};
use forebay_syntax::ast::{Annotation, BinaryOp};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::{SourceMap, Span};
use num_bigint::BigInt;

/// The control-plane name of something called `name` inside `scope` (empty at the top level).
pub fn control_plane_name(scope: &str, name: &str, annotations: &[Annotation]) -> String {
    let local = annotations::name(annotations).unwrap_or(name);
    match local.strip_prefix('.') {
        Some(absolute) => absolute.to_string(),
        None => join(scope, local),
    }
}

/// `scope.name`, or the name alone at the top level.
pub fn join(scope: &str, name: &str) -> String {
    if scope.is_empty() {
        name.to_string()
    } else {
        format!("{scope}.{name}")
    }
}

/// Records the name of a control-plane object; an error when another object of its kind has it. `kind` is in the
/// plural.
pub fn declare(cx: &mut Context, kind: &'static str, name: &str, span: Span) {
    let Some(earlier) = cx.controllable.insert((kind, name.to_string()), span) else {
        return;
    };
    let message = format!("two {kind} have the control-plane name `{name}`");
    let error = Diagnostic::error(codes::DUPLICATE_NAME, span, message);
    cx.diagnostics.push(if earlier == span {
        error.hint("two uses of the parser or control around it need two instances: `Inner() first; Inner() second;`")
    } else {
        error
            .secondary(earlier, "the other one")
            .hint("give one of them another name with @name")
    });
}

/// The control-plane name of a key field: its `@name`, or its expression (§14.2.1.1) with the `@name`s of the fields
/// in it, and `$valid$` for `isValid()`.
pub fn key_name(program: &hir::Program, sources: &SourceMap, key: &hir::TableKey) -> String {
    let given = annotations::name(&key.annotations).map(str::to_string);
    given
        .or_else(|| expression_name(program, sources, &key.expr))
        .unwrap_or_else(|| key.source_text.clone())
}

fn expression_name(program: &hir::Program, sources: &SourceMap, expr: &Expr) -> Option<String> {
    let inner = |expr: &Expr| expression_name(program, sources, expr);
    Some(match &expr.kind {
        ExprKind::Var(var) => program.vars[var.index()].name.clone(),
        ExprKind::Field(base, index) => {
            let Type::Composite(id, _) = &base.ty else { return None };
            let field = program.composites[id.index()].fields.get(*index)?;
            control_plane_name(&inner(base)?, &field.name, &field.annotations)
        }
        ExprKind::Index(base, index) => format!("{}[{}]", inner(base)?, inner(index)?),
        ExprKind::Slice(base, hi, lo) => format!("{}[{hi}:{lo}]", inner(base)?),
        ExprKind::Binary(first, links) if links.iter().all(|link| link.op == BinaryOp::BitAnd) => {
            let names: Option<Vec<String>> = operands(first, links).map(inner).collect();
            names?.join(" & ")
        }
        ExprKind::Int(value) => number(value, sources.text(expr.span)),
        ExprKind::Cast(operand) if matches!(operand.kind, ExprKind::Int(_)) => inner(operand)?,
        ExprKind::Call(call) => match &call.callee {
            Callee::IsValid(receiver) => format!("{}.$valid$", inner(receiver)?),
            _ => return None,
        },
        _ => return None,
    })
}

/// A number in the base in which it is written.
fn number(value: &BigInt, written: &str) -> String {
    let digits = written.split_once(['w', 's']).map_or(written, |(_, digits)| digits);
    match digits.get(..2) {
        Some("0x" | "0X") => format!("0x{value:x}"),
        Some("0b" | "0B") => format!("0b{value:b}"),
        Some("0o" | "0O") => format!("0o{value:o}"),
        _ => value.to_string(),
    }
}
