//! The graph of a parser's states (§13.1): an end must be reachable.

use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;

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
