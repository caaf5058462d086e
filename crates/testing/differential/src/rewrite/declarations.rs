//! Declarations that do not name each other change places.

use super::{Choices, Edit, Source, range, whole};
use forebay_syntax::ast::{Annotation, Declaration, DeclarationKind, Ident};
use forebay_syntax::source::Span;

/// Edits for the top level, the locals of controls and the states of parsers.
pub(super) fn edits(source: &Source, choices: &mut Choices) -> Vec<Edit> {
    let mut edits = Vec::new();
    let top: Vec<Item> = source.declarations().map(top_level).collect();
    exchange(source, &top, choices, &mut edits);
    if !edits.is_empty() && choices.once_in(2) {
        return edits;
    }
    edits.clear();
    for declaration in source.declarations() {
        match &declaration.kind {
            DeclarationKind::Control(control) => {
                let locals = control.body.iter().flat_map(|body| &body.locals);
                exchange(source, &locals.map(local).collect::<Vec<_>>(), choices, &mut edits);
            }
            DeclarationKind::Parser(parser) => {
                let states = parser.body.iter().flat_map(|body| &body.states);
                let items = states.map(|state| Item {
                    span: whole(&state.annotations, state.span),
                    name: None,
                    may_move: true,
                });
                exchange(source, &items.collect::<Vec<_>>(), choices, &mut edits);
            }
            _ => {}
        }
    }
    edits
}

/// Something that may change places.
struct Item<'a> {
    span: Span,
    /// The name that others know it by; none if its place does not matter to those that name it.
    name: Option<&'a Ident>,
    may_move: bool,
}

fn item<'a>(annotations: &[Annotation], declaration: &Declaration, name: Option<&'a Ident>) -> Item<'a> {
    Item {
        span: whole(annotations, declaration.span),
        name,
        may_move: name.is_some(),
    }
}

fn top_level(declaration: &Declaration) -> Item<'_> {
    let name = match &declaration.kind {
        DeclarationKind::Constant(constant) => Some(&constant.name),
        DeclarationKind::Action(action) => Some(&action.name),
        DeclarationKind::Parser(parser) => Some(&parser.name),
        DeclarationKind::Control(control) => Some(&control.name),
        DeclarationKind::Composite(composite) => Some(&composite.name),
        DeclarationKind::Enum(declared) => Some(&declared.name),
        DeclarationKind::Typedef(typedef) => Some(&typedef.name),
        DeclarationKind::Function(function) => Some(&function.prototype.name),
        _ => None,
    };
    item(&declaration.annotations, declaration, name)
}

/// In a control, what has no effect where it stands.
fn local(declaration: &Declaration) -> Item<'_> {
    let name = match &declaration.kind {
        DeclarationKind::Constant(constant) => Some(&constant.name),
        DeclarationKind::Action(action) => Some(&action.name),
        DeclarationKind::Table(table) => Some(&table.name),
        _ => None,
    };
    item(&declaration.annotations, declaration, name)
}

fn exchange(source: &Source, items: &[Item], choices: &mut Choices, edits: &mut Vec<Edit>) {
    let mut index = 0;
    while let Some([one, other]) = items.get(index..index + 2) {
        if can_exchange(source, one, other) && choices.once_in(2) {
            edits.push((range(one.span), source.text(other.span).to_string()));
            edits.push((range(other.span), source.text(one.span).to_string()));
            index += 1;
        }
        index += 1;
    }
}

fn can_exchange(source: &Source, one: &Item, other: &Item) -> bool {
    let names = |item: &Item, by: &Item| {
        by.name
            .is_some_and(|name| source.words(item.span).any(|word| word == name.name))
    };
    one.may_move
        && other.may_move
        && one.span.end <= other.span.start
        && is_apart(&source.text[one.span.end as usize..other.span.start as usize])
        && [one, other]
            .iter()
            .all(|item| source.is_plain(item.span) && !source.text(item.span).contains("\n#"))
        && !names(one, other)
        && !names(other, one)
}

/// Whether nothing but space stands between two declarations.
fn is_apart(between: &str) -> bool {
    between.trim().is_empty()
}
