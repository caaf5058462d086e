//! Diagnostics as text for people and as JSON for machines.
//!
//! ```text
//! error[E0102]: expected `;` after the field
//!   --> router.p4:4:18
//!    |
//!  4 |     bit<48> source
//!    |                   ^ expected `;` here
//!    |
//!    = help: ...
//! ```

use crate::diagnostic::{Diagnostic, Diagnostics, Label, Severity};
use crate::source::{SourceFile, SourceMap};
use serde_json::{Value, json};
use std::fmt::Write;

/// Columns between tab stops.
const TAB_WIDTH: usize = 4;
/// Lines of source wider than this are cut around the mark.
const MAX_LINE_WIDTH: usize = 160;

/// Renders all messages and a closing line with their number, as plain text.
pub fn render_all(diagnostics: &Diagnostics, sources: &SourceMap) -> String {
    render_all_in(diagnostics, sources, Style::Plain)
}

/// Renders all messages and a closing line with their number, in the colours of a terminal.
pub fn render_all_in_colour(diagnostics: &Diagnostics, sources: &SourceMap) -> String {
    render_all_in(diagnostics, sources, Style::Colour)
}

fn render_all_in(diagnostics: &Diagnostics, sources: &SourceMap, style: Style) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&render(diagnostic, sources, style));
        out.push('\n');
    }
    if diagnostics.suppressed() > 0 {
        let _ = writeln!(out, "{} further messages are not shown", diagnostics.suppressed());
    }
    let errors = diagnostics.error_count();
    let warnings = diagnostics.warning_count();
    if errors > 0 || warnings > 0 {
        let _ = writeln!(out, "{}, {}", counted(errors, "error"), counted(warnings, "warning"));
    }
    out
}

fn counted(number: usize, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// Renders one message; the text ends with a line end.
fn render(diagnostic: &Diagnostic, sources: &SourceMap, style: Style) -> String {
    let mut out = String::new();
    let head = format!("{}[{}]", diagnostic.severity.as_str(), diagnostic.code);
    let _ = writeln!(
        out,
        "{}: {}",
        style.severity(diagnostic.severity, &head),
        style.bold(&diagnostic.message)
    );
    let labels = || std::iter::once((&diagnostic.primary, true)).chain(diagnostic.secondary.iter().map(|l| (l, false)));
    let margin = labels()
        .map(|(label, _)| line_number(label, sources).len())
        .max()
        .unwrap_or(0);
    for (label, is_primary) in labels() {
        render_label(&mut out, label, is_primary, diagnostic.severity, margin, sources, style);
    }
    let indent = " ".repeat(margin + 1);
    for note in inclusion(diagnostic, sources).iter().chain(&diagnostic.notes) {
        let _ = writeln!(out, "{indent}{} note: {note}", style.margin("="));
    }
    if !diagnostic.options.is_empty() {
        let _ = writeln!(
            out,
            "{indent}{} expected: {}",
            style.margin("="),
            diagnostic.options.join(", ")
        );
    }
    if let Some(hint) = &diagnostic.hint {
        let _ = writeln!(out, "{indent}{} help: {hint}", style.margin("="));
    }
    out
}

/// For a message about an included file, which `#include` brought it in.
fn inclusion(diagnostic: &Diagnostic, sources: &SourceMap) -> Option<String> {
    let file = sources.file(diagnostic.primary.span.file)?;
    let place = sources.location(file.included_from?)?;
    Some(format!("the file is included at {}:{}", place.file, place.line))
}

fn line_number(label: &Label, sources: &SourceMap) -> String {
    sources
        .location(label.span)
        .map_or(String::new(), |location| location.line.to_string())
}

fn render_label(
    out: &mut String,
    label: &Label,
    is_primary: bool,
    severity: Severity,
    margin: usize,
    sources: &SourceMap,
    style: Style,
) {
    let Some(location) = sources.location(label.span) else {
        return;
    };
    let Some(file) = sources.file(label.span.file) else {
        return;
    };
    let indent = " ".repeat(margin);
    let arrow = style.margin(if is_primary { "-->" } else { ":::" });
    let _ = writeln!(
        out,
        "{indent}{arrow} {}:{}:{}",
        location.file, location.line, location.column
    );
    let bar = style.margin("|");
    let Marked { text, before, width } = mark(file, label);
    let number = format!("{:>margin$}", location.line);
    let _ = writeln!(out, "{indent} {bar}");
    let _ = writeln!(out, "{} {bar} {text}", style.margin(&number));
    let caret = (if is_primary { "^" } else { "-" }).repeat(width);
    let underline = format!("{caret} {}", label.text);
    let underline = style.severity(if is_primary { severity } else { Severity::Note }, underline.trim_end());
    let _ = writeln!(out, "{indent} {bar} {}{underline}", " ".repeat(before));
}

/// A line of source made ready for printing, and the columns to underline.
struct Marked {
    text: String,
    before: usize,
    width: usize,
}

/// Expands tabs, measures wide characters, and cuts very long lines around the mark.
fn mark(file: &SourceFile, label: &Label) -> Marked {
    let line = file.line_at(label.span.start);
    let line_start = file.line_start(line);
    let mut text = String::new();
    let (mut column, mut before, mut after) = (0, None, None);
    for (index, character) in file.line_text(line).char_indices() {
        let offset = line_start + index as u32;
        if offset >= label.span.start {
            before.get_or_insert(column);
        }
        if offset >= label.span.end {
            after.get_or_insert(column);
        }
        let width = if character == '\t' {
            TAB_WIDTH - column % TAB_WIDTH
        } else {
            character_width(character)
        };
        match character {
            '\t' => text.extend(std::iter::repeat_n(' ', width)),
            character if character.is_control() => text.push('\u{fffd}'),
            character => text.push(character),
        }
        column += width;
    }
    let before = before.unwrap_or(column);
    let after = after.unwrap_or(column).max(before + 1);
    cut(Marked {
        text,
        before,
        width: after - before,
    })
}

fn cut(marked: Marked) -> Marked {
    if marked.text.chars().count() <= MAX_LINE_WIDTH {
        return marked;
    }
    let skipped = marked.before.saturating_sub(MAX_LINE_WIDTH / 2);
    let lead = if skipped > 0 { "..." } else { "" };
    let shown: String = marked.text.chars().skip(skipped).take(MAX_LINE_WIDTH).collect();
    let before = marked.before - skipped + lead.len();
    Marked {
        text: format!("{lead}{shown}..."),
        before,
        width: marked.width.min(MAX_LINE_WIDTH / 2),
    }
}

/// How many columns a terminal gives to a character: two for those of East Asia and for pictographs, none for
/// marks that combine with the letter before them.
fn character_width(character: char) -> usize {
    match character as u32 {
        0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f | 0x20d0..=0x20ff => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[derive(Clone, Copy)]
enum Style {
    Plain,
    /// With the escape sequences of a terminal.
    Colour,
}

impl Style {
    fn paint(self, escape: &str, text: &str) -> String {
        match self {
            Style::Plain => text.to_string(),
            Style::Colour => format!("\x1b[{escape}m{text}\x1b[0m"),
        }
    }

    fn severity(self, severity: Severity, text: &str) -> String {
        let escape = match severity {
            Severity::Error => "1;31",
            Severity::Warning => "1;33",
            Severity::Note => "1;36",
        };
        self.paint(escape, text)
    }

    fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn margin(self, text: &str) -> String {
        self.paint("1;34", text)
    }
}

/// All messages as a JSON document: an object with `diagnostics`, `errors`, `warnings` and `suppressed`.
///
/// A position has `file`, `line` and `column` (from one, `#line` applied) and the byte offsets `start` and `end`.
pub fn to_json(diagnostics: &Diagnostics, sources: &SourceMap) -> Value {
    json!({
        "diagnostics": diagnostics.iter().map(|diagnostic| one_to_json(diagnostic, sources)).collect::<Vec<_>>(),
        "errors": diagnostics.error_count(),
        "warnings": diagnostics.warning_count(),
        "suppressed": diagnostics.suppressed(),
    })
}

fn one_to_json(diagnostic: &Diagnostic, sources: &SourceMap) -> Value {
    json!({
        "severity": diagnostic.severity.as_str(),
        "code": diagnostic.code.as_str(),
        "message": diagnostic.message,
        "primary": label_to_json(&diagnostic.primary, sources),
        "secondary": diagnostic.secondary.iter().map(|label| label_to_json(label, sources)).collect::<Vec<_>>(),
        "notes": diagnostic.notes,
        "hint": diagnostic.hint,
        "options": diagnostic.options,
    })
}

fn label_to_json(label: &Label, sources: &SourceMap) -> Value {
    match sources.location(label.span) {
        None => Value::Null,
        Some(location) => json!({
            "file": &*location.file,
            "line": location.line,
            "column": location.column,
            "start": label.span.start,
            "end": label.span.end,
            "text": label.text,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::source::MISSING_SEMICOLON;
    use crate::source::{FileId, Span};

    fn sources(text: &str) -> (SourceMap, FileId) {
        let mut sources = SourceMap::new();
        let file = sources.add("a.p4", text.to_string(), None);
        (sources, file)
    }

    #[test]
    fn underlines_stand_under_their_text() {
        let (sources, file) = sources("struct S {\n\tbit<8> \u{5b57}x\n}\n");
        let start = sources.file(file).unwrap().text.find('x').unwrap() as u32;
        let diagnostic = Diagnostic::error(MISSING_SEMICOLON, Span::new(file, start, start + 1), "expected `;`")
            .label("here")
            .hint("add it");
        let expected = "error[E0102]: expected `;`\n --> a.p4:2:10\n  |\n2 |     bit<8> \u{5b57}x\n  |              ^ here\n  = help: add it\n";
        assert_eq!(render(&diagnostic, &sources, Style::Plain), expected);
    }

    #[test]
    fn messages_at_the_end_and_without_place_render() {
        let (sources, file) = sources("x");
        for span in [Span::new(file, 1, 1), Span::new(file, 90, 99), Span::NONE] {
            let diagnostic = Diagnostic::error(MISSING_SEMICOLON, span, "m");
            assert!(!render(&diagnostic, &sources, Style::Colour).is_empty());
        }
    }

    #[test]
    fn long_lines_are_cut() {
        let (sources, file) = sources(&format!("{}!{}", "a".repeat(1000), "b".repeat(1000)));
        let text = render(
            &Diagnostic::error(MISSING_SEMICOLON, Span::new(file, 1000, 1001), "m"),
            &sources,
            Style::Plain,
        );
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[3].find('!'), lines[4].find('^'));
        assert!(lines[3].len() < 200);
    }

    #[test]
    fn json_has_positions() {
        let (sources, file) = sources("x\ny");
        let mut diagnostics = Diagnostics::new();
        diagnostics.push(Diagnostic::error(MISSING_SEMICOLON, Span::new(file, 2, 3), "m"));
        let json = to_json(&diagnostics, &sources);
        assert_eq!(json["diagnostics"][0]["primary"]["line"], 2);
        assert_eq!(json["errors"], 1);
    }
}
