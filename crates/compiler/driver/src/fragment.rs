//! Files that are parts of a program: one message in place of one for each name that another part declares.
//!
//! A file that is meant to be included gives a message for every name of its includer. These say nothing about the
//! mistake, which is that the file was taken for a program.

use forebay_syntax::ast::{self, DeclarationKind};
use forebay_syntax::codes::{self, Code};
use forebay_syntax::diagnostic::{Diagnostic, Diagnostics, Severity};
use forebay_syntax::source::SourceMap;

/// Fewer absent names than this may be mistakes, of which each is worth its message.
const ABSENT_MIN: usize = 3;

/// How many absent names the message lists.
const LISTED_MAX: usize = 5;

/// Codes of what another part of the program may declare; the name is what the messages mark.
const ABSENT_NAMES: &[Code] = &[
    codes::source::UNKNOWN_TYPE_NAME,
    codes::check::UNKNOWN_NAME,
    codes::check::UNKNOWN_MATCH_KIND,
];

/// Codes of what stands inside a declaration that another part of the program begins, such as states and entries.
const INSIDE_ANOTHER: &[Code] = &[
    codes::source::EXPECTED_DECLARATION,
    codes::source::MISPLACED_DECLARATION,
];

/// The messages about a file; those that only say that it is no whole program are one.
///
/// A file without `main` that declares no package, in itself or in what it includes, cannot be a program. Misspelt names
/// keep their messages, as do all other mistakes.
pub(crate) fn as_one_message(program: &ast::Program, sources: &SourceMap, diagnostics: Diagnostics) -> Diagnostics {
    if program.declarations.iter().any(of_a_whole) {
        return diagnostics;
    }
    let (outside, others): (Vec<&Diagnostic>, Vec<&Diagnostic>) = diagnostics.iter().partition(|said| is_outside(said));
    if outside.len() < ABSENT_MIN {
        return diagnostics;
    }
    let mut fewer = Diagnostics::new();
    fewer.push(part_of_a_program(&outside, sources));
    for message in others {
        fewer.push(message.clone());
    }
    fewer
}

/// Whether a declaration shows that this is to be a whole program.
fn of_a_whole(declaration: &ast::Declaration) -> bool {
    match &declaration.kind {
        DeclarationKind::Package(_) => true,
        DeclarationKind::Instantiation(instance) => instance.name.name == "main",
        _ => false,
    }
}

/// Whether a message is about what another part of the program has. A hint is about a mistake, unless it names a file
/// to include, or the declaration in which this stands.
fn is_outside(message: &Diagnostic) -> bool {
    let hint = message.hint.as_deref().unwrap_or_default();
    let is_of_a_part = if ABSENT_NAMES.contains(&message.code) {
        hint.is_empty() || hint.starts_with("`#include")
    } else {
        INSIDE_ANOTHER.contains(&message.code) && (hint.is_empty() || hint.contains(" stands "))
    };
    message.severity == Severity::Error && is_of_a_part
}

/// The message in place of those of `outside`, of which there is one.
fn part_of_a_program(outside: &[&Diagnostic], sources: &SourceMap) -> Diagnostic {
    let is_name = |message: &&&Diagnostic| ABSENT_NAMES.contains(&message.code);
    let mut names: Vec<&str> = Vec::new();
    for message in outside.iter().filter(is_name) {
        let name = sources.text(message.primary.span);
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    let why = if names.is_empty() {
        "and what stands here is not inside a declaration".to_string()
    } else {
        format!("and does not declare {}", listed(&names))
    };
    Diagnostic::error(
        codes::lower::NO_MAIN,
        outside[0].primary.span,
        format!("this is a part of a program: it has no `main`, {why}"),
    )
    .hint("name the file that includes this one, and ends with `... main;`")
}

/// Some names, and how many more there are.
fn listed(names: &[&str]) -> String {
    let quoted = names.iter().take(LISTED_MAX).map(|name| format!("`{name}`"));
    let text = quoted.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(LISTED_MAX) {
        0 => text,
        more => format!("{text} and {more} more names that it uses"),
    }
}
