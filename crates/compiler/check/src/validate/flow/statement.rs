//! Statements.

use super::{Flow, State};
use crate::hir::*;

impl<'a> Flow<'a> {
    pub(super) fn block(&mut self, block: &'a Block) {
        self.muted(&block.annotations, |flow| flow.statements(&block.statements));
    }

    pub(super) fn statements(&mut self, statements: &'a [Statement]) {
        for statement in statements {
            if self.state.is_none() || self.statements == 0 {
                return;
            }
            self.statements -= 1;
            self.statement(statement);
        }
    }

    /// A variable is declared.
    pub(super) fn variable(&mut self, var: VarId, value: Option<&'a Expr>) {
        match value {
            Some(value) => {
                self.read(value);
                self.set(var, &[]);
            }
            None => self.unset(var),
        }
    }

    /// An `if` with all of its `else if`.
    fn alternatives(&mut self, branches: &'a [Branch], otherwise: &'a Block) {
        let mut after = None;
        for Branch { condition, body, .. } in branches {
            self.read(condition);
            let before = self.state.clone();
            self.assume(condition, true);
            self.block(body);
            after = State::joined(after, std::mem::replace(&mut self.state, before));
            self.assume(condition, false);
        }
        self.block(otherwise);
        self.state = State::joined(self.state.take(), after);
    }

    fn statement(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::Assign { target, value, .. } => self.assign(target, value),
            StatementKind::Call(call) => self.read(call),
            StatementKind::If { branches, otherwise } => self.alternatives(branches, otherwise),
            StatementKind::Block(block) => self.block(block),
            StatementKind::SwitchAction { apply, cases } => {
                self.read(apply);
                self.action_cases(apply, cases);
            }
            StatementKind::Switch { expr, cases } => {
                self.read(expr);
                let has_default = cases.iter().any(|(labels, _)| labels.iter().any(Option::is_none));
                self.cases(cases.iter().map(|(_, block)| block), has_default);
            }
            StatementKind::Return(value) => {
                value.iter().for_each(|value| self.read(value));
                self.returned = State::joined(self.returned.take(), self.state.take());
            }
            StatementKind::Exit => self.state = None,
            StatementKind::Break => self.broken = State::joined(self.broken.take(), self.state.take()),
            StatementKind::Continue => self.continued = State::joined(self.continued.take(), self.state.take()),
            StatementKind::For {
                init,
                condition,
                update,
                body,
            } => {
                self.statements(init);
                self.rounds(&mut |flow| {
                    flow.read(condition);
                    let ended = flow.state.clone();
                    flow.block(body);
                    flow.state = State::joined(flow.state.take(), flow.continued.take());
                    flow.statements(update);
                    ended
                });
            }
            StatementKind::ForRange {
                variable,
                low,
                high,
                body,
            } => {
                self.read(low);
                self.read(high);
                self.each(*variable, body);
            }
            StatementKind::ForIn {
                variable,
                collection,
                body,
            } => {
                self.read(collection);
                self.each(*variable, body);
            }
            StatementKind::Var(var, value) => self.variable(*var, value.as_ref()),
            StatementKind::Instance(_) => {}
        }
    }

    /// The block of the action that a table has run is executed, if it has one.
    fn action_cases(&mut self, apply: &'a Expr, cases: &'a [(Vec<Option<usize>>, Block)]) {
        let Some(applied) = self.applied(apply).cloned() else {
            return;
        };
        let labels = cases.iter().flat_map(|(labels, _)| labels);
        let labelled: Vec<usize> = labels.flatten().copied().collect();
        let mut others = applied.after_any_but(&labelled);
        let mut after = None;
        for (labels, block) in cases {
            self.state = labels.iter().fold(None, |held, label| {
                let ran = match label {
                    Some(action) => applied.after(*action),
                    None => others.take(),
                };
                State::joined(held, ran)
            });
            self.block(block);
            after = State::joined(after, self.state.take());
        }
        self.state = State::joined(after, others);
    }

    /// One of several blocks is executed, or none.
    fn cases(&mut self, blocks: impl Iterator<Item = &'a Block>, has_default: bool) {
        let before = self.state.take();
        let mut after = None;
        for block in blocks {
            self.state.clone_from(&before);
            self.block(block);
            after = State::joined(after, self.state.take());
        }
        self.state = if has_default {
            after
        } else {
            State::joined(after, before)
        };
    }

    /// A body is executed with each value of a variable.
    fn each(&mut self, variable: VarId, body: &'a Block) {
        self.rounds(&mut |flow| {
            let ended = flow.state.clone();
            flow.set(variable, &[]);
            flow.block(body);
            flow.state = State::joined(flow.state.take(), flow.continued.take());
            ended
        });
    }

    /// A loop: `round` follows one round, and returns what holds where the loop ends before it. Rounds are followed
    /// until nothing changes, and then once more with warnings.
    fn rounds(&mut self, round: &mut dyn FnMut(&mut Flow<'a>) -> Option<State>) {
        let (broken, continued) = (self.broken.take(), self.continued.take());
        self.quiet += 1;
        loop {
            let before = self.state.clone();
            round(self);
            self.state = State::joined(self.state.take(), before.clone());
            if self.state == before || self.statements == 0 {
                break;
            }
        }
        self.quiet -= 1;
        self.broken = None;
        self.continued = None;
        let ended = round(self);
        self.state = State::joined(ended, self.broken.take());
        (self.broken, self.continued) = (broken, continued);
    }
}
