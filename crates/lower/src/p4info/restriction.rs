//! `@entry_restriction` and `@action_restriction`: constraints that a controller's writes must satisfy.
//!
//! P4Info carries them as annotations. Here they are read once, so that a mistake is found where it stands.

use super::Context;
use crate::constraint::{DATA, ENTRIES, joined, strings};
use forebay_constraints::{Constraint, Key, Kind, Mistake, Subject, Values};
use forebay_p4info::model::{Match, MatchField, MatchType, Param};
use forebay_syntax::ast::{Annotation, AnnotationToken};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::{SourceMap, Span};
use std::ops::Range;

/// Reports mistakes in the restriction of a table's entries.
pub fn check_entries(cx: &mut Context, annotations: &[Annotation], fields: &[MatchField]) {
    let keys = fields.iter().filter_map(|field| {
        let kind = match field.match_kind {
            Some(Match::MatchType(MatchType::Exact)) => Kind::Exact,
            Some(Match::MatchType(MatchType::Lpm)) => Kind::Lpm,
            Some(Match::MatchType(MatchType::Ternary)) => Kind::Ternary,
            Some(Match::MatchType(MatchType::Range)) => Kind::Range,
            Some(Match::MatchType(MatchType::Optional)) => Kind::Optional,
            _ => return None,
        };
        Some(Key {
            name: field.name.clone(),
            kind,
            values: values(field.bitwidth),
        })
    });
    let keys: Vec<Key> = keys.collect();
    check(cx, annotations, ENTRIES, Subject::Table, &keys);
}

/// Reports mistakes in the restriction of an action's data.
pub fn check_data(cx: &mut Context, annotations: &[Annotation], params: &[Param]) {
    let keys = params.iter().map(|param| Key {
        name: param.name.clone(),
        kind: Kind::Exact,
        values: values(param.bitwidth),
    });
    let keys: Vec<Key> = keys.collect();
    check(cx, annotations, DATA, Subject::Action, &keys);
}

/// What a controller sees of a width in P4Info.
fn values(bitwidth: i32) -> Values {
    match u32::try_from(bitwidth) {
        Ok(0) | Err(_) => Values::Text,
        Ok(width) => Values::Bits(width),
    }
}

fn check(cx: &mut Context, annotations: &[Annotation], name: &str, subject: Subject, keys: &[Key]) {
    for annotation in annotations.iter().filter(|annotation| annotation.name.name == name) {
        let Some(strings) = strings(annotation) else {
            let message = format!("`@{name}` is not followed by a constraint in quotation marks");
            let error = Diagnostic::error(codes::INVALID_CONSTRAINT, annotation.span, message);
            cx.diagnostics.push(error.hint(format!("write @{name}(\"…\")")));
            continue;
        };
        if let Err(mistake) = Constraint::new(&joined(strings), subject, keys) {
            let place = place(cx.sources, strings, &mistake.place);
            cx.diagnostics.push(diagnostic(mistake, place));
        }
    }
}

fn diagnostic(mistake: Mistake, place: Span) -> Diagnostic {
    Diagnostic::error(codes::INVALID_CONSTRAINT, place, mistake.message).options(mistake.options)
}

/// Where a piece of the joined strings stands in the source.
fn place(sources: &SourceMap, strings: &[AnnotationToken], piece: &Range<usize>) -> Span {
    let mut start = 0;
    for (index, token) in strings.iter().enumerate() {
        let end = start + token.text.len();
        if piece.start < end || index + 1 == strings.len() {
            return inside(sources, token, piece.start - start, piece.end.min(end) - start);
        }
        start = end;
    }
    Span::NONE
}

/// A piece of one string; all of it where what stands in the source is not what was read.
fn inside(sources: &SourceMap, token: &AnnotationToken, start: usize, end: usize) -> Span {
    let written = sources.text(token.span);
    if written.get(1..=token.text.len()) != Some(&token.text) {
        return token.span;
    }
    let at = |offset: usize| token.span.start + 1 + offset as u32;
    Span::new(token.span.file, at(start), at(end.max(start)))
}
