//! Local variables get other names.
//!
//! A variable is renamed wherever its name stands, so it must be the only thing of this name: declared once, no field,
//! no part of a macro or annotation, and not in a key of a table.

use super::statements::declared;
use super::{Choices, Edit, Source, range};
use forebay_syntax::ast::{Declaration, DeclarationKind, Ident, Param};
use forebay_syntax::token::TokenKind;
use std::collections::{BTreeMap, BTreeSet};

/// Edits for some variables.
pub(super) fn edits(source: &Source, choices: &mut Choices) -> Vec<Edit> {
    let mut variables = BTreeSet::new();
    let mut others = BTreeSet::new();
    for declaration in source.declarations() {
        note(declaration, &mut variables, &mut others);
    }
    let taken = taken(source);
    let chosen: BTreeMap<String, String> = variables
        .into_iter()
        .filter(|name| !others.contains(name) && !taken.contains(name))
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
fn note(declaration: &Declaration, variables: &mut BTreeSet<String>, others: &mut BTreeSet<String>) {
    let mut names: Vec<&Ident> = Vec::new();
    match &declaration.kind {
        DeclarationKind::Constant(item) => names.push(&item.name),
        DeclarationKind::Action(item) => {
            names.push(&item.name);
            names.extend(params(&item.params));
            declared(&item.body.statements, variables);
        }
        DeclarationKind::Function(item) => {
            names.push(&item.prototype.name);
            names.extend(params(&item.prototype.params));
            declared(&item.body.statements, variables);
        }
        DeclarationKind::Parser(item) => {
            names.push(&item.name);
            names.extend(params(&item.params).chain(params(&item.constructor_params)));
            if let Some(parts) = &item.body {
                for state in &parts.states {
                    names.push(&state.name);
                    declared(&state.statements, variables);
                }
            }
            if let Some(parts) = &item.body {
                parts.locals.iter().for_each(|local| note(local, variables, others));
            }
        }
        DeclarationKind::Control(item) => {
            names.push(&item.name);
            names.extend(params(&item.params).chain(params(&item.constructor_params)));
            if let Some(parts) = &item.body {
                declared(&parts.apply.statements, variables);
                parts.locals.iter().for_each(|local| note(local, variables, others));
            }
        }
        DeclarationKind::Variable(item) => {
            variables.insert(item.name.name.clone());
        }
        DeclarationKind::Composite(item) => {
            names.push(&item.name);
            names.extend(item.fields.iter().map(|field| &field.name));
        }
        DeclarationKind::Enum(item) => {
            names.push(&item.name);
            names.extend(item.members.iter().map(|(member, _)| member));
        }
        DeclarationKind::Error(members) | DeclarationKind::MatchKind(members) => names.extend(members),
        DeclarationKind::ExternFunction(item) => {
            names.push(&item.name);
            names.extend(params(&item.params));
        }
        DeclarationKind::ExternObject(item) => names.push(&item.name),
        DeclarationKind::Package(item) => names.push(&item.name),
        DeclarationKind::Typedef(item) => names.push(&item.name),
        DeclarationKind::Instantiation(item) => names.push(&item.name),
        DeclarationKind::Table(item) => names.push(&item.name),
        DeclarationKind::ValueSet(item) => names.push(&item.name),
    }
    others.extend(names.into_iter().map(|name| name.name.clone()));
}

fn params(params: &[Param]) -> impl Iterator<Item = &Ident> {
    params.iter().map(|param| &param.name)
}
