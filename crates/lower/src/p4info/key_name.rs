//! The name of a key field without `@name` (§14.2.1.1): its expression, with `$valid$` for `isValid()`.

use crate::names::control_plane_name;
use forebay_check::annotations;
use forebay_check::hir::{Callee, Expr, ExprKind, Program, TableKey, Type};
use forebay_syntax::ast::BinaryOp;
use forebay_syntax::source::SourceMap;
use num_bigint::BigInt;

/// The control-plane name of a key field.
pub fn key_name(program: &Program, sources: &SourceMap, key: &TableKey) -> String {
    let given = annotations::name(&key.annotations).map(str::to_string);
    given.or_else(|| text(program, sources, &key.expr)).unwrap_or_else(|| key.source_text.clone())
}

/// The text of an expression that has a name; none for others.
fn text(program: &Program, sources: &SourceMap, expr: &Expr) -> Option<String> {
    let inner = |expr: &Expr| text(program, sources, expr);
    Some(match &expr.kind {
        ExprKind::Var(var) => program.vars[var.index()].name.clone(),
        ExprKind::Field(base, field) => member(program, &inner(base)?, &base.ty, *field)?,
        ExprKind::Index(base, index) => format!("{}[{}]", inner(base)?, inner(index)?),
        ExprKind::Slice(base, high, low) => format!("{}[{high}:{low}]", inner(base)?),
        ExprKind::Binary(BinaryOp::BitAnd, left, right) => format!("{} & {}", inner(left)?, inner(right)?),
        ExprKind::Int(value) => number(value, sources.text(expr.span)),
        ExprKind::Call(call) => match &call.callee {
            Callee::IsValid(header) => format!("{}.$valid$", inner(header)?),
            _ => return None,
        },
        ExprKind::Cast(operand) if matches!(operand.kind, ExprKind::Int(_)) => inner(operand)?,
        _ => return None,
    })
}

/// A field with what it is a field of; an absolute `@name` of the field stands alone.
fn member(program: &Program, base: &str, base_type: &Type, field: usize) -> Option<String> {
    let Type::Composite(id, _) = base_type else { return None };
    let field = program.composites[id.index()].fields.get(field)?;
    Some(control_plane_name(base, &field.name, &field.annotations))
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
