//! What is certainly wrong about values on the way through a body: variables that are read before they are set, fields
//! of headers that are invalid, out parameters that a path leaves unset.
//!
//! A forward analysis of each function, parser and control. Its [`State`] says which variables *may* be unset and which
//! headers *must* be invalid; where paths meet, the former are joined and the latter intersected. Actions are followed
//! where they are called, and where a table that may run them is applied. A condition on `isValid()`, on the `hit` of a
//! table or on its `action_run` is taken into account.
//!
//! ```text
//!   bit<8> x;            unset: x
//!   if (c) { x = 1; }    unset: x (the other path)
//!   y = x;               warning
//! ```
//!
//! What cannot be told apart is taken to be in order: elements whose index is computed or comes from `next` and `last`,
//! and those of stacks and arrays of more than sixteen.

mod call;
mod expression;
mod place;
mod state;
mod statement;

use crate::annotations;
use crate::checker::Checker;
use crate::hir::*;
use crate::validate::is_psa_deparser;
use forebay_syntax::ast::Direction;
use forebay_syntax::codes::Code;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use place::Locations;
use state::{Applied, State};
use std::collections::HashMap;

/// The most statements that are analysed in all, those of actions once for each call: more than hand-written programs
/// have.
const STATEMENTS_MAX: usize = 1_000_000;

impl Checker {
    /// Warns of what the analysis finds.
    pub(super) fn check_flow(&mut self) {
        let mut found = Vec::new();
        let mut flow = Flow {
            program: &self.program,
            locations: Locations::default(),
            state: None,
            returned: None,
            broken: None,
            continued: None,
            applied: HashMap::new(),
            quiet: 0,
            muted: Vec::new(),
            statements: STATEMENTS_MAX,
            found: &mut found,
        };
        for function in &self.program.functions {
            flow.function(function);
        }
        for control in &self.program.controls {
            flow.control(control);
        }
        for parser in &self.program.parsers {
            flow.parser(parser);
        }
        for warning in found {
            self.report(warning);
        }
    }
}

/// What `@noWarn` calls a warning.
pub(super) fn names_of(code: Code) -> &'static [&'static str] {
    match code {
        codes::MAYBE_UNSET | codes::OUT_MAYBE_UNSET => &["uninitialized-use", "uninitialized_use", "uninitialized"],
        codes::HEADER_IS_INVALID | codes::NEVER_VALID => &["invalid-header", "invalid_header"],
        codes::DEPRECATED => &["deprecated"],
        _ => &[],
    }
}

/// The analysis of one body.
struct Flow<'a> {
    program: &'a Program,
    locations: Locations,
    /// What holds here; none where execution cannot come.
    state: Option<State>,
    /// What holds where the body returns.
    returned: Option<State>,
    /// What holds where the loop around is left.
    broken: Option<State>,
    /// What holds where its next round begins.
    continued: Option<State>,
    /// What holds after each table as it was applied last.
    applied: HashMap<TableId, Applied>,
    /// Whether warnings are held back: while a loop has not been followed to its end.
    quiet: usize,
    /// Texts of the `@noWarn`s around.
    muted: Vec<&'a str>,
    /// How many more statements are followed.
    statements: usize,
    found: &'a mut Vec<Diagnostic>,
}

impl<'a> Flow<'a> {
    fn warn(&mut self, warning: Diagnostic) {
        let is_muted = self.muted.iter().any(|text| names_of(warning.code).contains(text));
        if self.quiet == 0 && self.state.is_some() && !is_muted {
            self.found.push(warning);
        }
    }

    /// Does something on what annotations stand, `@noWarn` perhaps among them.
    fn muted(&mut self, annotations: &'a Annotations, inside: impl FnOnce(&mut Self)) {
        let before = self.muted.len();
        let named = annotations.iter().filter(|annotation| annotation.name.name == "noWarn");
        for annotation in named {
            self.muted
                .extend(annotations::string_arg(std::slice::from_ref(annotation), "noWarn"));
        }
        inside(self);
        self.muted.truncate(before);
    }

    fn warn_of(&mut self, code: Code, span: Span, message: String, hint: &str) {
        self.warn(Diagnostic::warning(code, span, message).hint(hint));
    }

    fn function(&mut self, function: &'a Function) {
        let Some(body) = &function.body else { return };
        self.begin(&function.params);
        self.block(body);
        self.end(&function.params, &function.name);
    }

    fn control(&mut self, control: &'a Control) {
        let Some(body) = &control.body else { return };
        self.begin(&control.params);
        self.locals(&body.locals);
        self.block(&body.apply);
        if !is_psa_deparser(self.program, control) {
            self.end(&control.params, &control.name);
        }
    }

    fn locals(&mut self, locals: &'a [Local]) {
        for local in locals {
            if let Local::Var(var, value) = local {
                self.variable(*var, value.as_ref());
            }
        }
    }

    /// Nothing is known but that out parameters are unset.
    fn begin(&mut self, params: &[Param]) {
        self.locations = Locations::default();
        self.applied.clear();
        self.state = Some(State::default());
        self.returned = None;
        for param in params.iter().filter(|param| param.direction == Direction::Out) {
            self.unset(param.var);
        }
    }

    /// The end of a body: its out parameters should be set.
    fn end(&mut self, params: &[Param], name: &str) {
        let returned = self.returned.take();
        self.state = State::joined(self.state.take(), returned);
        for param in params.iter().filter(|param| param.direction == Direction::Out) {
            if self.is_unset(param.var, &[]) {
                let var = &self.program.vars[param.var.index()];
                let message = format!("`{name}` may end without having set its out parameter `{}`", var.name);
                let hint = "set it on every path, or at the beginning";
                self.warn_of(codes::OUT_MAYBE_UNSET, var.span, message, hint);
            }
        }
    }

    /// The states of a parser: what holds at the beginning of each is found by going round until nothing changes.
    fn parser(&mut self, parser: &'a Parser) {
        let Some(body) = &parser.body else { return };
        self.begin(&parser.params);
        self.locals(&body.locals);
        let mut before: Vec<Option<State>> = vec![None; body.states.len()];
        before[body.start] = self.state.take();
        let mut pending = vec![body.start];
        self.quiet += 1;
        while let Some(index) = pending.pop() {
            self.state.clone_from(&before[index]);
            self.parser_state(&body.states[index], &mut |target, state| {
                let joined = State::joined(before[target].clone(), Some(state.clone()));
                if joined != before[target] {
                    before[target] = joined;
                    if !pending.contains(&target) {
                        pending.push(target);
                    }
                }
            });
            if self.statements == 0 {
                break;
            }
        }
        self.quiet -= 1;
        self.returned = None;
        for (state, held) in body.states.iter().zip(&before) {
            self.state.clone_from(held);
            self.parser_state(state, &mut |_, _| {});
        }
        self.state = None;
        self.end(&parser.params, &parser.name);
    }

    /// Statements and transition of a state. Where it accepts, the parser returns.
    fn parser_state(&mut self, state: &'a crate::hir::State, goes_to: &mut dyn FnMut(usize, &State)) {
        self.muted(&state.annotations, |flow| flow.statements(&state.statements));
        let operands = state.transition.operands();
        operands.into_iter().for_each(|operand| self.read(operand));
        let targets = match &state.transition {
            Transition::Direct(target) => vec![*target],
            Transition::Select { cases, .. } => cases.iter().map(|(_, target, _)| *target).collect(),
        };
        let Some(after) = self.state.take() else { return };
        for target in targets {
            match target {
                StateTarget::State(next) => goes_to(next, &after),
                StateTarget::Accept => {
                    self.returned = State::joined(self.returned.take(), Some(after.clone()));
                }
                StateTarget::Reject => {}
            }
        }
    }
}
