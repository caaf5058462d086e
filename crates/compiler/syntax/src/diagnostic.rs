//! Messages of the front end to the user.
//!
//! A mistake in a program is never a `Result::Err` or a log line: it is a [`Diagnostic`], collected in
//! [`Diagnostics`] while the work goes on, so that one run reports as much as it can. Rendering is
//! separate: [`crate::render`] draws them for people and writes them as JSON for machines.

use crate::codes::Code;
use crate::codes::source::UNTERMINATED_COMMENT;
use crate::library::{in_place_of, is_architecture, library_of};
use crate::source::Span;
use std::collections::HashSet;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The program is wrong; nothing is generated.
    Error,
    /// The program is legal but probably not what was intended.
    Warning,
    /// Information.
    Note,
}

impl Severity {
    /// The word that is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// A marked piece of source with a text about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// The text that is marked.
    pub span: Span,
    /// The text beside the mark; may be empty.
    pub text: String,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// Which kind of message, from the register in [`crate::codes`].
    pub code: Code,
    /// The message itself: one sentence without a full stop.
    pub message: String,
    /// Where ([`Span::NONE`] if nowhere in particular), with an optional text beside the mark.
    pub primary: Label,
    /// Other places that explain it.
    pub secondary: Vec<Label>,
    /// Facts that help to understand it.
    pub notes: Vec<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// What would have been right at this place, if that can be listed.
    pub options: Vec<String>,
    /// Its cause, such as a missing declaration: of several messages with one cause, only the first is reported.
    pub cause: Option<String>,
}

impl Diagnostic {
    /// A message of a given severity.
    pub fn new(severity: Severity, code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity,
            code,
            message: message.into(),
            primary: Label {
                span,
                text: String::new(),
            },
            secondary: Vec::new(),
            notes: Vec::new(),
            hint: None,
            options: Vec::new(),
            cause: None,
        }
    }

    /// An error.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, span, message)
    }

    /// A warning.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, span, message)
    }

    /// Sets the text beside the primary mark.
    pub fn label(mut self, text: impl Into<String>) -> Diagnostic {
        self.primary.text = text.into();
        self
    }

    /// Adds a second place. Does nothing when the span is [`Span::NONE`].
    pub fn secondary(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        if !span.is_none() {
            self.secondary.push(Label {
                span,
                text: text.into(),
            });
        }
        self
    }

    /// Adds a fact.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Sets what to do about it.
    pub fn hint(mut self, text: impl Into<String>) -> Diagnostic {
        self.hint = Some(text.into());
        self
    }

    /// Sets its cause.
    pub fn cause(mut self, cause: impl Into<String>) -> Diagnostic {
        self.cause = Some(cause.into());
        self
    }

    /// For a name that is not declared: the cause is the name, or a library file that is not included, and the hint
    /// names that file.
    pub fn absent(self, name: &str) -> Diagnostic {
        let cause = absence(name);
        match library_of(name) {
            Some(_) => self.cause(cause.clone()).hint(cause),
            None => self.cause(cause),
        }
    }

    /// As [`absent`](Self::absent), in a program that includes an architecture: it cannot include another one too, so a
    /// name of that one is for itself, and "did you mean" stays.
    pub fn absent_here(self, name: &str, architecture: Option<&str>) -> Diagnostic {
        let (file, included) = match (library_of(name), architecture) {
            (Some(file), Some(included)) if is_architecture(file) && file != included => (file, included),
            _ => return self.absent(name),
        };
        let diagnostic = self.cause(format!("`{name}` is not declared"));
        if diagnostic.hint.is_some() {
            return diagnostic;
        }
        let text = format!("`{name}` belongs to {file}, and this program includes {included}");
        match in_place_of(name, included) {
            Some(own) => diagnostic.hint(format!("{text}: write {own}")),
            None => diagnostic.hint(text),
        }
    }

    /// Shows the declaration that comes after its use, and says what to do about that.
    pub fn declared_later(self, declaration: Span, text: impl Into<String>) -> Diagnostic {
        let hint = if declaration.file == self.primary.span.file {
            "move the declaration up"
        } else {
            "change the order of the includes, so that the declaration comes first"
        };
        self.secondary(declaration, text).hint(hint)
    }

    /// Sets the hint "did you mean" if one of the candidates is close to what was written.
    pub fn did_you_mean<'a>(mut self, written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Diagnostic {
        if let Some(best) = closest_name(written, candidates) {
            self.hint = Some(format!("did you mean `{best}`?"));
        }
        self
    }

    /// Lists what would have been right, each once.
    pub fn options<S: Into<String>>(mut self, options: impl IntoIterator<Item = S>) -> Diagnostic {
        self.options.clear();
        for option in options.into_iter().map(Into::into) {
            if !self.options.contains(&option) {
                self.options.push(option);
            }
        }
        self
    }
}

/// The cause of messages about a name that is not declared.
fn absence(name: &str) -> String {
    match library_of(name) {
        Some(file) => format!("`#include <{file}>` declares it"),
        None => format!("`{name}` is not declared"),
    }
}

/// How many errors are kept unless the caller chooses otherwise.
pub const DEFAULT_ERROR_LIMIT: usize = 100;

/// The messages of a run, in the order in which they were found; bounded, and without repetitions.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    seen: HashSet<(Code, Span, String)>,
    causes: HashSet<String>,
    errors: usize,
    suppressed: usize,
    limit: usize,
}

impl Default for Diagnostics {
    fn default() -> Diagnostics {
        Diagnostics::with_limit(DEFAULT_ERROR_LIMIT)
    }
}

impl Diagnostics {
    /// No messages, with the default limit.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// No messages, keeping at most `limit` errors and as many warnings.
    pub fn with_limit(limit: usize) -> Diagnostics {
        Diagnostics {
            list: Vec::new(),
            seen: HashSet::new(),
            causes: HashSet::new(),
            errors: 0,
            suppressed: 0,
            limit: limit.max(1),
        }
    }

    /// Adds a message, unless it or one with the same cause was given before or the limit is reached.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if let Some(cause) = &diagnostic.cause
            && !self.causes.insert(cause.clone())
        {
            return;
        }
        let key = (diagnostic.code, diagnostic.primary.span, diagnostic.message.clone());
        let is_error = diagnostic.severity == Severity::Error;
        let kept = if is_error {
            self.errors
        } else {
            self.list.len() - self.errors.min(self.list.len())
        };
        if kept >= self.limit {
            self.errors += usize::from(is_error);
            self.suppressed += 1;
            return;
        }
        if self.seen.insert(key) {
            self.errors += usize::from(is_error);
            self.list.push(diagnostic);
        }
    }

    /// Whether there was a message that this name is [absent](Diagnostic::absent), so that others would be dropped.
    pub fn knows_absent(&self, name: &str) -> bool {
        self.knows(&absence(name))
    }

    /// Whether there was a message with this [cause](Diagnostic::cause), so that others would be dropped.
    pub fn knows(&self, cause: &str) -> bool {
        self.causes.contains(cause)
    }

    /// Adds all the messages of another collection.
    pub fn extend(&mut self, other: Diagnostics) {
        self.suppressed += other.suppressed;
        for diagnostic in other.list {
            self.push(diagnostic);
        }
    }

    /// The same messages, each warning as an error.
    pub fn strict(self) -> Diagnostics {
        let mut strict = Diagnostics::with_limit(self.limit);
        strict.suppressed = self.suppressed;
        for mut diagnostic in self.list {
            diagnostic.cause = None;
            if diagnostic.severity == Severity::Warning {
                diagnostic.severity = Severity::Error;
            }
            strict.push(diagnostic);
        }
        strict
    }

    /// The messages that were kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// The number of messages that were kept.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether there is at least one error.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether a comment without an end was reported: all that follows it is missing.
    pub fn has_open_comment(&self) -> bool {
        let mut codes = self.list.iter().map(|diagnostic| diagnostic.code);
        codes.any(|code| code == UNTERMINATED_COMMENT)
    }

    /// The number of errors, those beyond the limit among them.
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// The number of warnings that were kept.
    pub fn warning_count(&self) -> usize {
        self.list
            .iter()
            .filter(|diagnostic| diagnostic.severity == Severity::Warning)
            .count()
    }

    /// How many messages were left out because of the limit.
    pub fn suppressed(&self) -> usize {
        self.suppressed
    }

    /// Whether the limit of errors is reached, so that there is no point in looking for more.
    pub fn is_full(&self) -> bool {
        self.errors >= self.limit
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Names longer than this are not compared with misspelt ones, because comparing takes quadratic time.
const LONGEST_COMPARED_NAME: usize = 64;

/// The candidate that `written` is most likely a misspelling of: at most a third of its letters differ, or one of two.
pub fn closest_name<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if written.is_empty() || written.len() > LONGEST_COMPARED_NAME {
        return None;
    }
    let letters = written.chars().count();
    let allowed = (letters / 3).max(usize::from(letters > 1));
    let close = candidates
        .into_iter()
        .filter(|name| *name != written && name.len() <= LONGEST_COMPARED_NAME);
    let ranked = close.map(|name| (edit_distance(written, name), name));
    ranked
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// The number of insertions, deletions, replacements and swaps of neighbours between two words, letter case aside.
pub(crate) fn edit_distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.to_lowercase().chars().collect();
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut two_back: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=right.len()).collect();
    for (row, letter) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in right.iter().enumerate() {
            let replaced = previous[column] + usize::from(letter != other);
            let mut best = replaced.min(previous[column + 1] + 1).min(current[column] + 1);
            let swapped = row > 0 && column > 0 && *letter == right[column - 1] && left[row - 1] == *other;
            if swapped {
                best = best.min(two_back[column - 1] + 1);
            }
            current.push(best);
        }
        two_back = std::mem::replace(&mut previous, current);
    }
    previous[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::source::UNEXPECTED_TOKEN;
    use crate::source::FileId;

    #[test]
    fn repetitions_and_excess_are_dropped() {
        let mut diagnostics = Diagnostics::with_limit(3);
        for offset in [0, 0, 1, 2, 3, 4] {
            let span = Span::new(FileId(0), offset, offset);
            diagnostics.push(Diagnostic::error(UNEXPECTED_TOKEN, span, "x"));
        }
        assert_eq!(
            (diagnostics.len(), diagnostics.suppressed(), diagnostics.error_count()),
            (3, 2, 5)
        );
        assert!(diagnostics.is_full());
    }

    #[test]
    fn one_cause_is_reported_once() {
        let mut diagnostics = Diagnostics::new();
        for (offset, name) in ["foo", "packet_in", "foo", "packet_out"].into_iter().enumerate() {
            let span = Span::new(FileId(0), offset as u32, offset as u32);
            diagnostics.push(Diagnostic::error(UNEXPECTED_TOKEN, span, name).absent(name));
        }
        let messages: Vec<&str> = diagnostics.iter().map(|given| given.message.as_str()).collect();
        assert_eq!(messages, ["foo", "packet_in"]);
        let known = ["foo", "packet_out", "bar"].map(|name| diagnostics.knows_absent(name));
        assert_eq!(known, [true, true, false]);
    }

    #[test]
    fn close_names_are_found() {
        let names = ["ingress", "egress", "parser"];
        assert_eq!(closest_name("ingerss", names), Some("ingress"));
        assert_eq!(closest_name("Egress", names), Some("egress"));
        assert_eq!(closest_name("table", names), None);
        assert_eq!(closest_name("a", ["b", "A"]), Some("A"));
    }
}
