//! The graph of a parser's states (§13.1): an end must be reachable.

use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;

impl Checker {
    /// Reports a parser that can neither accept nor reject.
    pub(crate) fn check_reachable_end(&mut self, states: &[State], start: usize, name: &ast::Ident) {
        let mut reached = vec![false; states.len()];
        let mut pending = vec![start];
        while let Some(index) = pending.pop() {
            if std::mem::replace(&mut reached[index], true) {
                continue;
            }
            for target in targets(&states[index].transition) {
                match target {
                    StateTarget::State(next) => pending.push(next),
                    StateTarget::Accept | StateTarget::Reject => return,
                }
            }
        }
        let message = format!("the parser {} can never reach accept or reject", name.name);
        self.error(codes::MISSING_TRANSITION, name.span, message);
    }
}

impl Checker {
    /// Warns of states that the start does not lead to, and of those from which the parser cannot end, though it can
    /// end from others.
    pub(crate) fn check_states(&mut self) {
        let mut warnings = Vec::new();
        for parser in &self.program.parsers {
            let Some(body) = &parser.body else { continue };
            for (state, usefulness) in body.states.iter().zip(usefulness(body)) {
                let (name, parser) = (&state.name, &parser.name);
                let warning = |code, message| Diagnostic::warning(code, state.span, message);
                warnings.extend(match usefulness {
                    Usefulness::Useful => None,
                    Usefulness::Endless => {
                        let message = format!("from the state `{name}` the parser {parser} can never accept");
                        let warning = warning(codes::ENDLESS_STATE, message);
                        Some(warning.hint("add a transition to `accept`, or to a state that leads there"))
                    }
                    Usefulness::Unreached => {
                        let message = format!("the parser {parser} never comes to the state `{name}`");
                        let warning = warning(codes::UNREACHED_STATE, message);
                        Some(warning.hint("add a transition to it, or take it out"))
                    }
                });
            }
        }
        warnings.into_iter().for_each(|warning| self.report(warning));
    }
}

/// What a state of a parser is good for.
enum Usefulness {
    Useful,
    /// The start leads to it, and it leads only to others of the kind.
    Endless,
    /// The start does not lead to it.
    Unreached,
}

/// The usefulness of each state.
fn usefulness(body: &ParserBody) -> impl Iterator<Item = Usefulness> {
    let follow = |from: Vec<usize>, next: &dyn Fn(usize) -> Vec<usize>| {
        let mut reached = vec![false; body.states.len()];
        let mut pending = from;
        while let Some(index) = pending.pop() {
            if !std::mem::replace(&mut reached[index], true) {
                pending.extend(next(index));
            }
        }
        reached
    };
    let after: Vec<Vec<StateTarget>> = body.states.iter().map(|state| targets(&state.transition)).collect();
    let states = |index: usize| {
        let next = after[index].iter().filter_map(|target| match target {
            StateTarget::State(next) => Some(*next),
            StateTarget::Accept | StateTarget::Reject => None,
        });
        next.collect::<Vec<usize>>()
    };
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); body.states.len()];
    (0..body.states.len()).for_each(|index| states(index).into_iter().for_each(|next| before[next].push(index)));
    let is_end = |index: &usize| {
        after[*index]
            .iter()
            .any(|target| !matches!(target, StateTarget::State(_)))
    };
    let ends = (0..body.states.len()).filter(is_end).collect();
    let reached = follow(vec![body.start], &states);
    let ending = follow(ends, &|index| before[index].clone());
    reached.into_iter().zip(ending).map(|ways| match ways {
        (false, _) => Usefulness::Unreached,
        (true, false) => Usefulness::Endless,
        (true, true) => Usefulness::Useful,
    })
}

fn targets(transition: &Transition) -> Vec<StateTarget> {
    match transition {
        Transition::Direct(target) => vec![*target],
        Transition::Select { cases, .. } => {
            let all: Vec<StateTarget> = cases.iter().map(|(_, target, _)| *target).collect();
            let exhaustive = cases
                .iter()
                .any(|(keysets, _, _)| keysets.iter().all(|keyset| matches!(keyset, KeySet::Any)));
            if exhaustive {
                all
            } else {
                all.into_iter().chain([StateTarget::Reject]).collect()
            }
        }
    }
}
