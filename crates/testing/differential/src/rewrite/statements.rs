//! Statements: parentheses, exchanged branches, blocks, assignments moved into actions.

use super::{Choices, Edit, Source, range};
use forebay_syntax::ast::{
    Block, Branch, Control, DeclarationKind, Expr, ExprKind, Statement, StatementKind, TypeKind,
};
use forebay_syntax::source::Span;
use forebay_syntax::token::TokenKind;
use std::collections::BTreeSet;

/// What is done to statements of one body.
struct Rewriter<'a, 'b> {
    source: &'a Source<'b>,
    choices: &'a mut Choices,
    edits: Vec<Edit>,
    /// Where actions can be declared that statements of this body become; none where they cannot.
    actions: Option<Actions>,
}

struct Actions {
    /// Variables of blocks, which an action does not see.
    local: BTreeSet<String>,
    /// The actions, as text.
    text: String,
    count: usize,
    control: String,
}

/// Edits for all bodies.
pub(super) fn edits(source: &Source, choices: &mut Choices) -> Vec<Edit> {
    let mut rewriter = Rewriter {
        source,
        choices,
        edits: Vec::new(),
        actions: None,
    };
    for declaration in source.declarations() {
        match &declaration.kind {
            DeclarationKind::Action(action) => rewriter.block(&action.body),
            DeclarationKind::Function(function) => rewriter.block(&function.body),
            DeclarationKind::Control(control) => rewriter.control(control),
            DeclarationKind::Parser(parser) => {
                let states = parser.body.iter().flat_map(|body| &body.states);
                states.for_each(|state| rewriter.statements(&state.statements));
            }
            _ => {}
        }
    }
    rewriter.edits
}

impl Rewriter<'_, '_> {
    fn control(&mut self, control: &Control) {
        let Some(body) = &control.body else { return };
        for local in &body.locals {
            if let DeclarationKind::Action(action) = &local.kind {
                self.block(&action.body);
            }
        }
        let is_deparser = control.params.iter().any(|param| match &param.ty.kind {
            TypeKind::Named { name, .. } => name.ident.name == "packet_out",
            _ => false,
        });
        let before = &self.source.text[..body.apply.span.start as usize];
        let place = before
            .rfind("apply")
            .filter(|place| before[place + "apply".len()..].trim().is_empty());
        let mut local = BTreeSet::new();
        declared(&body.apply.statements, &mut local);
        self.actions = place
            .filter(|_| !is_deparser && body.apply_annotations.is_empty())
            .map(|_| Actions {
                local,
                text: String::new(),
                count: 0,
                control: control.name.name.clone(),
            });
        self.block(&body.apply);
        if let (Some(actions), Some(place)) = (self.actions.take(), place)
            && !actions.text.is_empty()
        {
            self.edits.push((place..place, actions.text));
        }
    }

    fn block(&mut self, block: &Block) {
        self.statements(&block.statements);
    }

    fn statements(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    /// An `if` with all of its `else if`: the first branch may change its place with the rest.
    fn alternatives(&mut self, span: Span, branches: &[Branch], otherwise: Option<&Statement>) {
        let rest = branches
            .get(1)
            .map(|next| next.span)
            .or(otherwise.map(|other| other.span));
        match rest {
            Some(rest) if self.choices.once_in(3) && self.source.is_plain(span) => {
                let text = |span| self.source.text(span);
                let exchanged = format!(
                    "if (!({})) {{ {} }} else {{ {} }}",
                    text(branches[0].condition.span),
                    text(rest.to(span)),
                    text(branches[0].body.span)
                );
                self.edits.push((range(span), exchanged));
            }
            _ => {
                for branch in branches {
                    self.value(&branch.condition);
                    self.statement(&branch.body);
                }
                otherwise.into_iter().for_each(|other| self.statement(other));
            }
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Assign { value, .. } => self.assignment(statement, value),
            StatementKind::Call(_) if self.choices.once_in(4) => self.in_block(statement.span),
            StatementKind::If { branches, otherwise } => {
                self.alternatives(statement.span, branches, otherwise.as_deref())
            }
            StatementKind::Block(block) => self.block(block),
            StatementKind::Switch { cases, .. } => {
                cases
                    .iter()
                    .filter_map(|case| case.body.as_ref())
                    .for_each(|body| self.block(body));
            }
            StatementKind::For { condition, body, .. } => {
                self.value(condition);
                self.statement(body);
            }
            StatementKind::ForIn { body, .. } => self.statement(body),
            StatementKind::Return(Some(value)) => self.value(value),
            StatementKind::Declaration(declaration) => {
                if let DeclarationKind::Variable(variable) = &declaration.kind {
                    variable.value.iter().for_each(|value| self.value(value));
                }
            }
            _ => {}
        }
    }

    fn assignment(&mut self, statement: &Statement, value: &Expr) {
        match self.choices.below(6) {
            0 => self.in_block(statement.span),
            1 | 2 => self.in_action(statement.span, value),
            _ => self.value(value),
        }
    }

    fn in_block(&mut self, span: Span) {
        if self.source.is_plain(span) && self.source.text(span).ends_with(';') {
            self.edits
                .push((range(span), format!("{{ {} }}", self.source.text(span))));
        }
    }

    /// An assignment becomes an action that is called.
    fn in_action(&mut self, span: Span, value: &Expr) {
        let Some(actions) = &mut self.actions else {
            return self.value(value);
        };
        let sees = |word: &str| !actions.local.contains(word) && word != "apply";
        if !self.source.is_plain(span) || !self.source.text(span).ends_with(';') || !self.source.words(span).all(sees) {
            return;
        }
        let name = format!("mm_{}_{}", actions.control, actions.count);
        actions.count += 1;
        actions.text += &format!("@hidden action {name}() {{ {} }}\n    ", self.source.text(span));
        self.edits.push((range(span), format!("{name}();")));
    }

    /// Parentheses around a value, or around its operands.
    fn value(&mut self, value: &Expr) {
        let is_operation = matches!(
            value.kind,
            ExprKind::Binary { .. }
                | ExprKind::Unary { .. }
                | ExprKind::Cast { .. }
                | ExprKind::Ternary { .. }
                | ExprKind::Int(_)
        );
        if is_operation && self.source.is_plain(value.span) && self.choices.once_in(3) {
            let text = self.source.text(value.span);
            return self.edits.push((range(value.span), format!("({text})")));
        }
        match &value.kind {
            ExprKind::Binary { first, links } => {
                self.value(first);
                links.iter().for_each(|link| self.value(&link.right));
            }
            ExprKind::Unary { operand, .. } => self.value(operand),
            ExprKind::Cast { operand, .. } if self.begins_with_cast(value.span) => self.value(operand),
            ExprKind::Ternary {
                condition,
                then_value,
                else_value,
            } => {
                self.value(condition);
                self.value(then_value);
                self.value(else_value);
            }
            _ => {}
        }
    }

    fn begins_with_cast(&self, span: Span) -> bool {
        self.source
            .tokens(span)
            .first()
            .is_some_and(|first| first.kind == TokenKind::LeftParen)
    }
}

/// The variables that statements declare.
pub(super) fn declared(statements: &[Statement], names: &mut BTreeSet<String>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::If { branches, otherwise } => {
                let bodies = branches.iter().map(|branch| &branch.body);
                bodies
                    .chain(otherwise.as_deref())
                    .for_each(|body| declared(std::slice::from_ref(body), names));
            }
            StatementKind::Block(block) => declared(&block.statements, names),
            StatementKind::Switch { cases, .. } => {
                let bodies = cases.iter().filter_map(|case| case.body.as_ref());
                bodies.for_each(|body| declared(&body.statements, names));
            }
            StatementKind::For { init, body, .. } => {
                declared(init, names);
                declared(std::slice::from_ref(&**body), names);
            }
            StatementKind::ForIn { variable, body, .. } => {
                names.insert(variable.name.clone());
                declared(std::slice::from_ref(&**body), names);
            }
            StatementKind::Declaration(declaration) => match &declaration.kind {
                DeclarationKind::Variable(variable) => {
                    names.insert(variable.name.name.clone());
                }
                DeclarationKind::Constant(constant) => {
                    names.insert(constant.name.name.clone());
                }
                DeclarationKind::Instantiation(instance) => {
                    names.insert(instance.name.name.clone());
                }
                _ => {}
            },
            _ => {}
        }
    }
}
