//! Calls: arguments in the directions of the parameters, actions followed into their bodies.

use super::Flow;
use super::state::Applied;
use crate::annotations;
use crate::hir::*;
use forebay_syntax::ast::Direction;
use forebay_syntax::codes::check as codes;
use forebay_syntax::source::Span;

impl<'a> Flow<'a> {
    pub(super) fn call(&mut self, call: &'a Call, span: Span) {
        for operand in call.callee.operands() {
            self.read_indices(operand);
        }
        match &call.callee {
            Callee::Function(id) => {
                let function = &self.program.functions[id.index()];
                self.warn_deprecated(&function.name, &function.annotations, span);
                self.arguments(&function.params, &call.args);
            }
            Callee::Method {
                receiver,
                extern_type,
                method,
            } => {
                let declared = &self.program.externs[extern_type.index()].methods[*method];
                self.read(receiver);
                self.warn_deprecated(&declared.name, &declared.annotations, span);
                self.arguments(&declared.params, &call.args);
            }
            Callee::Action(id) => {
                let action = &self.program.actions[id.index()];
                let args = call.args.iter().map(Argument::value);
                self.action(action, args.collect());
            }
            Callee::TableApply(table) => self.apply_table(table),
            Callee::Apply(receiver) => {
                let params = match &receiver.ty {
                    Type::Parser(id, _) => &self.program.parsers[id.index()].params,
                    Type::Control(id, _) => &self.program.controls[id.index()].params,
                    _ => return,
                };
                self.arguments(params, &call.args);
            }
            Callee::IsValid(_) => {}
            Callee::SetValid(header) | Callee::SetInvalid(header) => {
                if let Some(place) = self.place(header) {
                    self.set_validity(&place, matches!(call.callee, Callee::SetInvalid(_)));
                }
            }
            Callee::PushFront(stack, _) | Callee::PopFront(stack, _) => {
                if let Some(place) = self.place(stack) {
                    self.set(place.var, &place.path);
                }
            }
        }
    }

    fn warn_deprecated(&mut self, name: &str, written: &Annotations, span: Span) {
        let Some(text) = annotations::string_arg(written, "deprecated") else {
            return;
        };
        let message = format!("`{name}` is deprecated");
        let hint = text.trim_end_matches('.').to_string();
        self.warn_of(codes::DEPRECATED, span, message, &hint);
    }

    /// Arguments are read, the call happens, and results are written.
    fn arguments(&mut self, params: &[Param], args: &'a [Argument]) {
        let pairs = params.iter().zip(args);
        let values = pairs.filter_map(|(param, arg)| Some((param.direction, arg.value()?)));
        let values: Vec<(Direction, &Expr)> = values.collect();
        for (direction, value) in &values {
            if *direction != Direction::Out {
                self.read(value);
            }
        }
        for (direction, value) in values {
            if matches!(direction, Direction::Out | Direction::InOut) {
                self.write(value);
            }
        }
    }

    /// An action is called.
    fn action(&mut self, action: &'a Action, args: Vec<Option<&'a Expr>>) {
        let pairs = || action.params.iter().zip(&args);
        for (param, arg) in pairs() {
            if let (Some(value), true) = (arg, param.direction != Direction::Out) {
                self.read(value);
            }
            if param.direction == Direction::Out {
                self.unset(param.var);
            }
        }
        let returned = self.returned.take();
        self.block(&action.body);
        self.end(&action.params, &action.name);
        self.returned = returned;
        for (param, arg) in pairs() {
            if let (Some(value), Direction::Out | Direction::InOut) = (arg, param.direction) {
                self.write(value);
            }
        }
    }

    fn apply_table(&mut self, table: &Expr) {
        let ExprKind::Table(id) = table.kind else { return };
        let table = &self.program.tables[id.index()];
        table.keys.iter().for_each(|key| self.read(&key.expr));
        let before = self.state.take();
        let mut applied = Applied::default();
        for (index, listed) in table.actions.iter().enumerate() {
            self.state.clone_from(&before);
            let action = &self.program.actions[listed.action.index()];
            self.action(action, listed.args.iter().map(Some).collect());
            applied.ran(
                self.state.take(),
                runs_on_hit(table, listed),
                runs_on_miss(table, index),
            );
        }
        if table.actions.is_empty() || (table.default_action.is_none() && !self.lists_no_action(table)) {
            applied.ran_nothing(before);
        }
        self.state = applied.after_any_but(&[]);
        self.applied.insert(id, applied);
    }

    /// Whether NoAction is among the actions of a table: without a default action, it is what runs on a miss.
    fn lists_no_action(&self, table: &Table) -> bool {
        table.actions.iter().any(|listed| {
            let action = &self.program.actions[listed.action.index()];
            action.control.is_none() && action.name == "NoAction"
        })
    }

    /// What holds after a table that was applied last, by what it did.
    pub(super) fn applied(&self, apply: &Expr) -> Option<&Applied> {
        let ExprKind::Call(call) = &apply.kind else { return None };
        let Callee::TableApply(table) = &call.callee else {
            return None;
        };
        let ExprKind::Table(id) = table.kind else { return None };
        self.applied.get(&id)
    }
}

/// Whether an entry may run an action.
fn runs_on_hit(table: &Table, listed: &TableAction) -> bool {
    !table.keys.is_empty() && !annotations::has(&listed.annotations, "defaultonly")
}

/// Whether an action, by its index, may be the default action: the control plane may choose another one.
fn runs_on_miss(table: &Table, index: usize) -> bool {
    let may_become = !annotations::has(&table.actions[index].annotations, "tableonly");
    match &table.default_action {
        Some(default) => default.action == index || (may_become && !default.is_const),
        None => may_become,
    }
}
