//! `out` parameters that are never written (§6.8): their callers get unspecified values.

use crate::checker::Checker;
use crate::hir::*;
use crate::validate::is_psa_deparser;
use forebay_syntax::ast::{CompositeKind, Direction};
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use std::collections::HashSet;

impl Checker {
    /// Warns of `out` parameters that no statement writes.
    pub(super) fn check_out_params(&mut self) {
        let mut unwritten = Vec::new();
        for function in &self.program.functions {
            if let Some(body) = &function.body {
                self.collect_unwritten(&function.params, |written| block(body, written), &mut unwritten);
            }
        }
        for action in &self.program.actions {
            self.collect_unwritten(&action.params, |written| block(&action.body, written), &mut unwritten);
        }
        for parser in &self.program.parsers {
            if let Some(body) = &parser.body {
                let all = |written: &mut HashSet<VarId>| {
                    locals(&body.locals, &self.program, written);
                    body.states
                        .iter()
                        .for_each(|state| statements(&state.statements, written));
                };
                self.collect_unwritten(&parser.params, all, &mut unwritten);
            }
        }
        for control in &self.program.controls {
            if is_psa_deparser(&self.program, control) {
                continue;
            }
            if let Some(body) = &control.body {
                let all = |written: &mut HashSet<VarId>| {
                    locals(&body.locals, &self.program, written);
                    block(&body.apply, written);
                };
                self.collect_unwritten(&control.params, all, &mut unwritten);
            }
        }
        for id in unwritten {
            let var = &self.program.vars[id.index()];
            let message = format!("the out parameter `{}` is never written", var.name);
            let diagnostic = Diagnostic::warning(codes::OUT_NEVER_WRITTEN, var.span, message);
            self.report(diagnostic.hint("write it, or make it an inout or in parameter"));
        }
    }

    fn collect_unwritten(&self, params: &[Param], collect: impl Fn(&mut HashSet<VarId>), unwritten: &mut Vec<VarId>) {
        if params.iter().all(|param| param.direction != Direction::Out) {
            return;
        }
        let mut written = HashSet::new();
        collect(&mut written);
        let silent = params
            .iter()
            .filter(|param| param.direction == Direction::Out && !written.contains(&param.var));
        let unspecified = silent
            .map(|param| param.var)
            .filter(|var| self.is_unspecified(&self.program.vars[var.index()].ty));
        unwritten.extend(unspecified);
    }

    /// Whether a value that is never written has unspecified parts: headers have none, as they begin invalid (§6.8).
    fn is_unspecified(&self, ty: &Type) -> bool {
        match ty {
            Type::Composite(id, args) => {
                let is_struct = self.program.composites[id.index()].kind == CompositeKind::Struct;
                is_struct
                    && self
                        .program
                        .field_types(*id, args)
                        .iter()
                        .any(|ty| self.is_unspecified(ty))
            }
            Type::Stack(element, _) => self.is_unspecified(element),
            Type::Tuple(types) => types.iter().any(|ty| self.is_unspecified(ty)),
            ty => !ty.is_unknown(),
        }
    }
}

fn locals(locals: &[Local], program: &Program, written: &mut HashSet<VarId>) {
    for local in locals {
        match local {
            Local::Var(_, Some(value)) => expr(value, written),
            Local::Action(id) => block(&program.actions[id.index()].body, written),
            Local::Table(id) => {
                let table = &program.tables[id.index()];
                table.keys.iter().for_each(|key| expr(&key.expr, written));
                table.actions.iter().flat_map(|action| &action.args).for_each(|arg| {
                    place(arg, written);
                    expr(arg, written);
                });
            }
            Local::Instance(id) => {
                for (_, function) in &program.instances[id.index()].implementations {
                    program.functions[function.index()]
                        .body
                        .iter()
                        .for_each(|body| block(body, written));
                }
            }
            Local::Var(_, None) | Local::ValueSet(_) => {}
        }
    }
}

fn block(body: &Block, written: &mut HashSet<VarId>) {
    statements(&body.statements, written);
}

fn statements(list: &[Statement], written: &mut HashSet<VarId>) {
    list.iter().for_each(|item| statement(item, written));
}

fn statement(item: &Statement, written: &mut HashSet<VarId>) {
    match &item.kind {
        StatementKind::Assign { target, value, .. } => {
            place(target, written);
            expr(value, written);
        }
        StatementKind::Call(call) => expr(call, written),
        StatementKind::If { branches, otherwise } => {
            for branch in branches {
                expr(&branch.condition, written);
                block(&branch.body, written);
            }
            block(otherwise, written);
        }
        StatementKind::Block(body) => block(body, written),
        StatementKind::SwitchAction { cases, .. } => cases.iter().for_each(|(_, body)| block(body, written)),
        StatementKind::Switch { expr: value, cases } => {
            expr(value, written);
            cases.iter().for_each(|(_, body)| block(body, written));
        }
        StatementKind::Return(value) | StatementKind::Var(_, value) => {
            value.iter().for_each(|value| expr(value, written));
        }
        StatementKind::For {
            init,
            condition,
            update,
            body,
        } => {
            statements(init, written);
            expr(condition, written);
            statements(update, written);
            block(body, written);
        }
        StatementKind::ForRange { variable, body, .. } | StatementKind::ForIn { variable, body, .. } => {
            written.insert(*variable);
            block(body, written);
        }
        StatementKind::Exit | StatementKind::Break | StatementKind::Continue | StatementKind::Instance(_) => {}
    }
}

/// Notes the variable of which a part is written.
fn place(target: &Expr, written: &mut HashSet<VarId>) {
    match &target.kind {
        ExprKind::Var(id) => {
            written.insert(*id);
        }
        ExprKind::Field(base, _)
        | ExprKind::TupleElement(base, _)
        | ExprKind::Index(base, _)
        | ExprKind::StackNext(base)
        | ExprKind::StackLast(base)
        | ExprKind::Slice(base, _, _)
        | ExprKind::PlusSlice(base, _, _) => place(base, written),
        _ => {}
    }
}

/// Notes what the calls in an expression may write: every argument that could be written counts.
fn expr(value: &Expr, written: &mut HashSet<VarId>) {
    match &value.kind {
        ExprKind::Call(call) => {
            for arg in &call.args {
                if let Argument::Value(value) = arg {
                    place(value, written);
                    expr(value, written);
                }
            }
            match &call.callee {
                Callee::SetValid(base)
                | Callee::SetInvalid(base)
                | Callee::PushFront(base, _)
                | Callee::PopFront(base, _) => place(base, written),
                _ => {}
            }
        }
        ExprKind::Field(base, _)
        | ExprKind::TupleElement(base, _)
        | ExprKind::Slice(base, _, _)
        | ExprKind::Unary(_, base)
        | ExprKind::Cast(base)
        | ExprKind::TableHit(base)
        | ExprKind::TableMiss(base) => expr(base, written),
        ExprKind::Binary(first, links) => operands(first, links).for_each(|operand| expr(operand, written)),
        ExprKind::Index(left, right) | ExprKind::PlusSlice(left, right, _) => {
            expr(left, written);
            expr(right, written);
        }
        ExprKind::Ternary(condition, left, right) => {
            expr(condition, written);
            expr(left, written);
            expr(right, written);
        }
        ExprKind::Aggregate(elements) | ExprKind::Reordered(elements, _) => {
            elements.iter().for_each(|element| expr(element, written))
        }
        _ => {}
    }
}
