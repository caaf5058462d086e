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
        let program = &self.program;
        let mut unwritten = Vec::new();
        for function in &program.functions {
            if let Some(body) = &function.body {
                let inside = |written: &mut Written| written.note([Node::Block(body)]);
                unwritten.extend(self.unwritten(&function.params, inside));
            }
        }
        for action in &program.actions {
            let inside = |written: &mut Written| written.note([Node::Block(&action.body)]);
            unwritten.extend(self.unwritten(&action.params, inside));
        }
        for parser in &program.parsers {
            if let Some(body) = &parser.body {
                let inside = |written: &mut Written| {
                    written.locals(&body.locals, program);
                    written.note(body.states.iter().flat_map(State::children));
                };
                unwritten.extend(self.unwritten(&parser.params, inside));
            }
        }
        for control in &program.controls {
            if is_psa_deparser(program, control) {
                continue;
            }
            if let Some(body) = &control.body {
                let inside = |written: &mut Written| {
                    written.locals(&body.locals, program);
                    written.note([Node::Block(&body.apply)]);
                };
                unwritten.extend(self.unwritten(&control.params, inside));
            }
        }
        for id in unwritten {
            let var = &self.program.vars[id.index()];
            let message = format!("the out parameter `{}` is never written", var.name);
            let diagnostic = Diagnostic::warning(codes::OUT_NEVER_WRITTEN, var.span, message);
            self.report(diagnostic.hint("write it, or make it an inout or in parameter"));
        }
    }

    /// The out parameters of a declaration that nothing inside it writes.
    fn unwritten(&self, params: &[Param], inside: impl Fn(&mut Written)) -> Vec<VarId> {
        let mut out = params
            .iter()
            .filter(|param| param.direction == Direction::Out)
            .peekable();
        let mut written = Written::default();
        if out.peek().is_some() {
            inside(&mut written);
        }
        let unwritten = out.map(|param| param.var).filter(|var| !written.0.contains(var));
        unwritten
            .filter(|var| self.is_unspecified(&self.program.vars[var.index()].ty))
            .collect()
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

/// Variables of which a part may be written.
#[derive(Default)]
struct Written(HashSet<VarId>);

impl Written {
    fn locals(&mut self, locals: &[Local], program: &Program) {
        for local in locals {
            match local {
                Local::Var(_, value) => self.note(value.iter().map(Node::Expr)),
                Local::Action(id) => self.note([Node::Block(&program.actions[id.index()].body)]),
                Local::Table(id) => {
                    let table = &program.tables[id.index()];
                    self.note(table.operands().map(Node::Expr));
                    self.places(table.actions.iter().flat_map(|listed| &listed.args));
                }
                Local::Instance(id) => {
                    let implementations = program.instances[id.index()].implementations.iter();
                    let bodies = implementations.filter_map(|(_, id)| program.functions[id.index()].body.as_ref());
                    self.note(bodies.map(Node::Block));
                }
                Local::ValueSet(_) => {}
            }
        }
    }

    fn note<'a>(&mut self, roots: impl IntoIterator<Item = Node<'a>>) {
        for node in nodes(roots) {
            match node {
                Node::Block(_) => {}
                Node::Statement(statement) => match &statement.kind {
                    StatementKind::Assign { target, .. } => self.places([target]),
                    StatementKind::ForRange { variable, .. } | StatementKind::ForIn { variable, .. } => {
                        self.0.insert(*variable);
                    }
                    _ => {}
                },
                Node::Expr(expr) => {
                    if let ExprKind::Call(call) = &expr.kind {
                        self.call(call);
                    }
                }
            }
        }
    }

    /// Every argument that could be written counts.
    fn call(&mut self, call: &Call) {
        self.places(call.values());
        match &call.callee {
            Callee::SetValid(place)
            | Callee::SetInvalid(place)
            | Callee::PushFront(place, _)
            | Callee::PopFront(place, _) => self.places([&**place]),
            _ => {}
        }
    }

    fn places<'a>(&mut self, places: impl IntoIterator<Item = &'a Expr>) {
        self.0.extend(places.into_iter().filter_map(Expr::variable));
    }
}
