//! Names that the control plane sees.
//!
//! A table `t` of the control `MyIngress` is `MyIngress.t`; of its sub-control instance `sub`, `MyIngress.sub.t`. What is
//! declared at the top level has its plain name. `@name("x")` replaces the last part, `@name(".x")` all of it.

use forebay_check::annotations;
use forebay_check::hir::{self, Callee, Expr, ExprKind, Type};
use forebay_syntax::ast::Annotation;

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

/// The control-plane name of a key field: its `@name`, or its expression with the `@name`s of the fields in it, and
/// `$valid$` for `isValid()`.
pub fn key_name(program: &hir::Program, key: &hir::TableKey) -> String {
    match annotations::name(&key.annotations) {
        Some(name) => name.to_string(),
        None => expression_name(program, &key.expr).unwrap_or_else(|| key.source_text.clone()),
    }
}

fn expression_name(program: &hir::Program, expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Var(var) => Some(program.vars[var.index()].name.clone()),
        ExprKind::Field(base, index) => {
            let Type::Composite(id, _) = &base.ty else { return None };
            let field = program.composites[id.index()].fields.get(*index)?;
            let name = annotations::name(&field.annotations).unwrap_or(&field.name);
            match name.strip_prefix('.') {
                Some(absolute) => Some(absolute.to_string()),
                None => Some(join(&expression_name(program, base)?, name)),
            }
        }
        ExprKind::Index(base, index) => {
            let ExprKind::Int(index) = &index.kind else { return None };
            Some(format!("{}[{index}]", expression_name(program, base)?))
        }
        ExprKind::Slice(base, hi, lo) => Some(format!("{}[{hi}:{lo}]", expression_name(program, base)?)),
        ExprKind::Call(call) => match &call.callee {
            Callee::IsValid(receiver) => Some(format!("{}.$valid$", expression_name(program, receiver)?)),
            _ => None,
        },
        _ => None,
    }
}
