//! `@entry_restriction` and `@action_restriction`: constraints that a controller's writes must satisfy.
//!
//! P4Info carries them as annotations. They are parsed here once, so that mistakes are reported at their source
//! locations.

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

/// The values of a field, from its width in P4Info.
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
            let warning = Diagnostic::warning(codes::INVALID_CONSTRAINT, annotation.span, message);
            cx.diagnostics.push(warning.hint(format!("write @{name}(\"…\")")));
            continue;
        };
        if let Err(mistake) = Constraint::new(&joined(strings), subject, keys) {
            let place = place(cx.sources, strings, &mistake.place);
            cx.diagnostics.push(diagnostic(mistake, place));
        }
    }
}

fn diagnostic(mistake: Mistake, place: Span) -> Diagnostic {
    Diagnostic::warning(codes::INVALID_CONSTRAINT, place, mistake.message).options(mistake.options)
}

/// The source span of a piece of the joined strings.
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

/// The span of a piece of one string; of the whole string if the source differs from what was read. If macros were
/// replaced or directives executed in a string, its text matches the source up to the first of these, after the last,
/// and in lines that match exactly one line of the source.
fn inside(sources: &SourceMap, token: &AnnotationToken, start: usize, end: usize) -> Span {
    let written = sources.text(token.span);
    let written = written.strip_prefix('"').unwrap_or(written);
    let written = written.strip_suffix('"').unwrap_or(written);
    let Some(from) = written_at(written, &token.text, start, end) else {
        return token.span;
    };
    let at = |offset: usize| token.span.start + 1 + offset as u32;
    Span::new(token.span.file, at(from), at(from + end.max(start) - start))
}

/// The position at which the piece of `read` from `start` to `end` is written.
fn written_at(written: &str, read: &str, start: usize, end: usize) -> Option<usize> {
    let same = |(left, right): &(u8, u8)| left == right;
    let alike = written.bytes().zip(read.bytes()).take_while(same).count();
    if end <= alike {
        return Some(start);
    }
    let alike_at_end = written.bytes().rev().zip(read.bytes().rev()).take_while(same).count();
    if read.len() - start <= alike_at_end {
        return Some(start + written.len() - read.len());
    }
    let line_start = read[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line = read[line_start..].lines().next()?;
    let lines = written.split_inclusive('\n').scan(0, |offset, line| {
        let from = *offset;
        *offset += line.len();
        Some((from, line.trim_end_matches('\n')))
    });
    let mut like = lines.filter(|(_, other)| *other == line);
    let (from, _) = like.next().filter(|_| end <= line_start + line.len())?;
    like.next().is_none().then_some(from + start - line_start)
}
