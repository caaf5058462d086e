//! Parsers (§13): locals, states, transitions and select.

use super::control::BlockHead;
use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use forebay_syntax::ast::{self, DeclarationKind};
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::known::Place;
use num_bigint::BigInt;
use std::collections::{HashMap, HashSet};

impl Checker {
    /// A parser or parser type.
    pub(super) fn declare_parser(&mut self, item: &ast::Parser, annotations: &[ast::Annotation]) {
        let annotations = self.annotations(Place::Parser, annotations);
        self.scopes.push();
        let BlockHead {
            type_params,
            params,
            constructor_params,
        } = self.declare_block_head(&item.type_params, &item.params, &item.constructor_params);
        let id = ParserId(self.program.parsers.len() as u32);
        self.program.parsers.push(Parser {
            name: item.name.name.clone(),
            type_params,
            params,
            constructor_params,
            body: None,
            annotations,
            span: item.name.span,
        });
        if let Some(body) = &item.body {
            self.no_optional_params(&item.constructor_params);
            let name = item.name.name.clone();
            let body = self.within(
                |context| {
                    context.parser = Some(id);
                    context.defining.push(name);
                },
                |checker| checker.scoped(|checker| checker.check_parser_body(body, &item.name)),
            );
            self.program.parsers[id.index()].body = Some(body);
        }
        self.scopes.pop();
        self.define_constructible(&item.name, Entity::Parser(id));
    }

    fn check_parser_body(&mut self, body: &ast::ParserBody, name: &ast::Ident) -> ParserBody {
        let mut locals = Vec::new();
        self.with_upcoming(&body.locals, |checker| {
            for declaration in &body.locals {
                checker.declare_parser_local(declaration, &mut locals);
            }
        });
        let states = self.state_indices(&body.states);
        let start = states.get("start").copied();
        if start.is_none() {
            let message = format!("the parser {} has no state named `start`", name.name);
            let hint = "execution begins there: add `state start { transition accept; }`";
            self.error_with_hint(codes::NO_START_STATE, name.span, message, hint);
        }
        let checked: Vec<State> = body
            .states
            .iter()
            .map(|state| self.check_state(state, &states))
            .collect();
        if let Some(start) = start {
            self.check_reachable_end(&checked, start, name);
        }
        ParserBody {
            locals,
            states: checked,
            start: start.unwrap_or(0),
        }
    }

    fn declare_parser_local(&mut self, declaration: &ast::Declaration, locals: &mut Vec<Local>) {
        let annotations = &declaration.annotations;
        match &declaration.kind {
            DeclarationKind::Constant(item) => self.declare_constant(item),
            DeclarationKind::Variable(item) => {
                let (var, value) = self.declare_variable(item, annotations);
                locals.push(Local::Var(var, value));
            }
            DeclarationKind::Instantiation(item) => {
                let instance = self.check_instantiation(item, annotations, declaration.span);
                locals.extend(instance.map(Local::Instance));
            }
            DeclarationKind::ValueSet(item) => locals.push(Local::ValueSet(self.declare_value_set(item, annotations))),
            _ => {
                let message = "this cannot be declared in a parser";
                self.error(codes::MISPLACED_INSTANTIATION, declaration.span, message);
            }
        }
    }

    fn declare_value_set(&mut self, item: &ast::ValueSet, annotations: &[ast::Annotation]) -> ValueSetId {
        let element = self.resolve_type(&item.ty);
        let allowed = matches!(
            element,
            Type::Bool
                | Type::Bit(_)
                | Type::Signed(_)
                | Type::Enum(_)
                | Type::NewType(_)
                | Type::Tuple(_)
                | Type::Unknown
        ) || self.program.composite_kind(&element) == Some(ast::CompositeKind::Struct);
        if !allowed {
            let message = format!("a value set cannot have elements of type {}", self.show(&element));
            self.error(codes::INVALID_ELEMENT_TYPE, item.ty.span, message);
        }
        let size = self.check_typed_value(&item.size);
        if !size.ty.is_number() && !size.ty.is_unknown() {
            self.error(
                codes::NOT_CONSTANT,
                item.size.span,
                "the size of a value set must be a number",
            );
        } else {
            self.require_constant(&size, "the size of a value set");
        }
        let annotations = self.annotations(Place::ValueSet, annotations);
        let id = ValueSetId(self.program.value_sets.len() as u32);
        let name = item.name.name.clone();
        self.program.value_sets.push(ValueSet {
            name,
            element,
            size,
            annotations,
            span: item.name.span,
        });
        self.define(&item.name, Entity::ValueSet(id));
        id
    }

    fn state_indices<'a>(&mut self, states: &'a [ast::ParserState]) -> HashMap<&'a str, usize> {
        let mut indices: HashMap<&str, usize> = HashMap::new();
        for (index, state) in states.iter().enumerate() {
            let name = state.name.name.as_str();
            if matches!(name, "accept" | "reject") {
                let message = format!("the state `{name}` is built in and cannot be declared");
                self.error(codes::BUILT_IN_STATE, state.name.span, message);
            }
            if let Some(earlier) = indices.insert(name, index) {
                let place = states[earlier].name.span;
                self.duplicate(name, state.name.span, place);
            } else if let Some(entry) = self.scopes.find_here(name) {
                let place = entry.span;
                self.duplicate(name, state.name.span, place);
            }
        }
        indices
    }

    fn check_state(&mut self, state: &ast::ParserState, states: &HashMap<&str, usize>) -> State {
        let annotations = self.annotations(Place::State, &state.annotations);
        self.scopes.push();
        let saved = self.context.clone();
        self.context.in_state = true;
        let statements = state
            .statements
            .iter()
            .filter_map(|statement| self.check_statement(statement))
            .collect();
        let transition = match &state.transition {
            None => {
                self.warn_of_implicit_reject(&state.name);
                Transition::Direct(StateTarget::Reject)
            }
            Some(ast::Transition::Direct(name)) => Transition::Direct(self.state_target(name, states)),
            Some(ast::Transition::Select(select)) => self.check_select(select, states),
        };
        self.context = saved;
        self.scopes.pop();
        State {
            name: state.name.name.clone(),
            statements,
            transition,
            annotations,
            span: state.name.span,
        }
    }

    fn warn_of_implicit_reject(&mut self, name: &ast::Ident) {
        if ["accept", "reject"].contains(&name.name.as_str()) {
            // They cannot be declared, which has been said.
            return;
        }
        let message = format!("the state `{}` has no transition, so it rejects all packets", name.name);
        let warning = Diagnostic::warning(codes::IMPLICIT_REJECT, name.span, message);
        self.report(warning.hint("write `transition accept;`, or `transition reject;` if that is meant"));
    }

    fn state_target(&mut self, name: &ast::Ident, states: &HashMap<&str, usize>) -> StateTarget {
        match name.name.as_str() {
            "accept" => StateTarget::Accept,
            "reject" => StateTarget::Reject,
            text => match states.get(text) {
                Some(index) => StateTarget::State(*index),
                None => {
                    let mut options: Vec<&str> = states.keys().copied().chain(["accept", "reject"]).collect();
                    options.sort_unstable();
                    let message = format!("the parser has no state `{text}`");
                    let diagnostic = Diagnostic::error(codes::UNKNOWN_STATE, name.span, message)
                        .did_you_mean(text, options.iter().copied())
                        .options(options.clone());
                    self.report(match text {
                        "ingress" => {
                            diagnostic.hint("in P4_16 the parser ends with `accept`; ingress follows by itself")
                        }
                        _ => diagnostic,
                    });
                    StateTarget::Reject
                }
            },
        }
    }

    fn check_select(&mut self, select: &ast::Select, states: &HashMap<&str, usize>) -> Transition {
        let written: Vec<Expr> = select.keys.iter().map(|key| self.check_select_key(key)).collect();
        let types: Vec<Type> = written.iter().map(|key| key.ty.clone()).collect();
        let keys = self.flatten_keys(written);
        let mut cases = Vec::new();
        let mut catch_all = false;
        let mut seen = HashSet::new();
        for case in &select.cases {
            if catch_all {
                let message = "this case is never reached: an earlier one matches everything";
                self.report(Diagnostic::warning(codes::UNREACHABLE_CASE, case.span, message));
            }
            let keysets = self.within(
                |context| context.in_keyset = true,
                |checker| checker.check_keysets(&case.keyset, &types),
            );
            let target = self.state_target(&case.state, states);
            if let Some(keysets) = keysets {
                let is_repeated = constants(&keysets).is_some_and(|values| !seen.insert(values));
                if is_repeated && !catch_all {
                    let message = "this case is never reached: an earlier one has the same value";
                    self.report(Diagnostic::warning(codes::UNREACHABLE_CASE, case.span, message));
                }
                if is_empty(&keysets) && !catch_all {
                    let message =
                        "this case is never reached: its range is empty, since the low end is above the high end";
                    self.report(Diagnostic::warning(codes::UNREACHABLE_CASE, case.span, message));
                }
                catch_all |= keysets.iter().all(|keyset| matches!(keyset, KeySet::Any));
                cases.push((keysets, target, case.span));
            }
        }
        Transition::Select {
            keys,
            cases,
            span: select.span,
        }
    }

    fn check_select_key(&mut self, key: &ast::Expr) -> Expr {
        let checked = self.check_typed_value(key);
        let checked = match &checked.ty {
            Type::Int => {
                let message = "the expression in a select needs a width";
                self.report(
                    Diagnostic::error(codes::UNKNOWN_WIDTH, key.span, message).hint("write a width, as in 8w5"),
                );
                return self.invalid(key.span);
            }
            _ => checked,
        };
        let scalar = |ty: &Type| {
            matches!(
                self.program.unwrapped(ty),
                Type::Bit(_) | Type::Signed(_) | Type::Bool | Type::Enum(_) | Type::Unknown
            )
        };
        let allowed = match &checked.ty {
            Type::Tuple(types) => types.iter().all(scalar),
            ty => scalar(ty),
        };
        if !allowed {
            let message = format!(
                "an expression of type {} cannot be used in select",
                self.show(&checked.ty)
            );
            self.error(codes::INVALID_SELECT, key.span, message);
            return self.invalid(key.span);
        }
        checked
    }
}

/// The values of the keys for which a case is chosen, if it is chosen for one value of each.
fn constants(keysets: &[KeySet]) -> Option<Vec<BigInt>> {
    let value = |keyset: &KeySet| match keyset {
        KeySet::Value(value) => constant(value).cloned(),
        _ => None,
    };
    keysets.iter().map(value).collect()
}

/// Whether a range among the keysets has no value: its low end is above its high end.
fn is_empty(keysets: &[KeySet]) -> bool {
    let is_empty = |keyset: &KeySet| match keyset {
        KeySet::Range(low, high) => constant(low).zip(constant(high)).is_some_and(|(low, high)| low > high),
        _ => false,
    };
    keysets.iter().any(is_empty)
}

fn constant(expr: &Expr) -> Option<&BigInt> {
    match &expr.kind {
        ExprKind::Int(value) => Some(value),
        _ => None,
    }
}
