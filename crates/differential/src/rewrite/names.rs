//! Local variables get other names.
//!
//! A variable is renamed wherever its name stands, so it must be the only thing of this name: declared once, no field, no
//! part of a macro or annotation, and not in a key of a table.

use super::statements::declared;
use super::{Choices, Edit, Source, range};
use forebay_syntax::ast::{Block, Declaration, DeclarationKind, Param};
use forebay_syntax::token::TokenKind;
use std::collections::{BTreeMap, BTreeSet};

/// Edits for some variables.
pub(super) fn edits(source: &Source, choices: &mut Choices) -> Vec<Edit> {
    let mut variables = BTreeSet::new();
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    for declaration in source.declarations() {
        note(declaration, &mut variables, &mut others);
    }
    let taken = taken(source);
    let chosen: BTreeMap<String, String> = variables
        .into_iter()
        .filter(|name| !others.contains_key(name) && !taken.contains(name))
        .filter(|_| choices.once_in(2))
        .enumerate()
        .map(|(index, name)| (name, format!("mm_renamed_{index}")))
        .collect();
    let words = source.tokens.iter().filter(|token| token.kind == TokenKind::Identifier);
    let renamed = words.filter_map(|token| Some((range(token.span), chosen.get(source.spelling(token))?.clone())));
    renamed.collect()
}

/// Words that stand where a name must not change.
fn taken(source: &Source) -> BTreeSet<String> {
    let mut taken: BTreeSet<String> = source
        .words_elsewhere
        .union(&source.words_of_directives)
        .cloned()
        .collect();
    let places = super::tokens::places(source);
    for (index, token) in source.tokens.iter().enumerate() {
        let after_dot = index > 0 && source.tokens[index - 1].kind == TokenKind::Dot;
        let before_assign = source
            .tokens
            .get(index + 1)
            .is_some_and(|next| next.kind == TokenKind::Assign);
        let in_list = index > 0
            && matches!(
                source.tokens[index - 1].kind,
                TokenKind::Comma | TokenKind::LeftParen | TokenKind::LeftBrace
            );
        if token.kind.is_word() && (after_dot || before_assign && in_list || !places[index].is_code()) {
            taken.insert(source.spelling(token).to_string());
        }
    }
    taken
}

/// Takes note of what a declaration declares: variables, and everything else.
fn note(declaration: &Declaration, variables: &mut BTreeSet<String>, others: &mut BTreeMap<String, usize>) {
    let mut other = |name: &str| *others.entry(name.to_string()).or_default() += 1;
    let params =
        |params: &[Param], other: &mut dyn FnMut(&str)| params.iter().for_each(|param| other(&param.name.name));
    let body = |block: &Block, variables: &mut BTreeSet<String>| declared(&block.statements, variables);
    match &declaration.kind {
        DeclarationKind::Constant(item) => other(&item.name.name),
        DeclarationKind::Action(item) => {
            other(&item.name.name);
            params(&item.params, &mut other);
            body(&item.body, variables);
        }
        DeclarationKind::Function(item) => {
            other(&item.prototype.name.name);
            params(&item.prototype.params, &mut other);
            body(&item.body, variables);
        }
        DeclarationKind::Parser(item) => {
            other(&item.name.name);
            params(&item.params, &mut other);
            params(&item.constructor_params, &mut other);
            for parts in &item.body {
                for state in &parts.states {
                    other(&state.name.name);
                    declared(&state.statements, variables);
                }
            }
            for parts in &item.body {
                parts.locals.iter().for_each(|local| note(local, variables, others));
            }
        }
        DeclarationKind::Control(item) => {
            other(&item.name.name);
            params(&item.params, &mut other);
            params(&item.constructor_params, &mut other);
            for parts in &item.body {
                body(&parts.apply, variables);
                parts.locals.iter().for_each(|local| note(local, variables, others));
            }
        }
        DeclarationKind::Variable(item) => {
            variables.insert(item.name.name.clone());
        }
        DeclarationKind::Composite(item) => {
            other(&item.name.name);
            item.fields.iter().for_each(|field| other(&field.name.name));
        }
        DeclarationKind::Enum(item) => {
            other(&item.name.name);
            item.members.iter().for_each(|(member, _)| other(&member.name));
        }
        DeclarationKind::Error(names) | DeclarationKind::MatchKind(names) => {
            names.iter().for_each(|name| other(&name.name));
        }
        DeclarationKind::ExternFunction(item) => {
            other(&item.name.name);
            params(&item.params, &mut other);
        }
        DeclarationKind::ExternObject(item) => other(&item.name.name),
        DeclarationKind::Package(item) => other(&item.name.name),
        DeclarationKind::Typedef(item) => other(&item.name.name),
        DeclarationKind::Instantiation(item) => other(&item.name.name),
        DeclarationKind::Table(item) => other(&item.name.name),
        DeclarationKind::ValueSet(item) => other(&item.name.name),
    }
}
