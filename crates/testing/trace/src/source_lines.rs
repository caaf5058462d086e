//! What stands in a program's source, to be shown beside what it did.
//!
//! The representation that executes keeps a place for each step, and no text. Here the text is found again around that
//! place: the condition of an `if`, the case of a `select`, the line of a `state`. Where it is not found as expected
//! nothing is shown.

use forebay_ir::{Location, Program};
use std::collections::HashMap;

/// Longest piece of source that is shown, in characters.
const CHARACTERS_MAX: usize = 60;

/// Lines over which a condition or a select expression may extend.
const LINES_MAX: usize = 200;

/// The files of a program, read when they are first asked for. A compiled program's may be elsewhere by now; then there
/// is nothing to show.
#[derive(Default)]
pub struct SourceLines {
    files: HashMap<u32, Vec<String>>,
}

/// What decides where a program branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// `if (hdr.ipv4.isValid())`, `for (...)`, `verify(...)`.
    pub text: String,
    /// Whether a statement follows on the line where it ends.
    pub statement_follows: bool,
}

impl SourceLines {
    /// What stands in that line, without blanks around it, comment, and the brace or semicolon at its end.
    pub fn statement(&mut self, program: &Program, location: Location) -> Option<String> {
        let line = self.from(program, location)?.first()?.clone();
        let text = line.trim().trim_end_matches(['{', ';']).trim();
        (!text.is_empty()).then(|| shortened(text))
    }

    /// The condition that begins in that line; nothing when the branch is not one that the program shows.
    pub fn condition(&mut self, program: &Program, location: Location) -> Option<Condition> {
        let text = joined(self.from(program, location)?);
        let first_line = text.lines().next()?;
        let (keyword, start) = ["if", "for", "while", "verify"]
            .into_iter()
            .filter_map(|keyword| Some((keyword, word_before_parenthesis(first_line, keyword)?)))
            .min_by_key(|(_, start)| *start)?;
        let open = start + text[start..].find('(')?;
        let close = closing(&text, open)?;
        let behind = text[close + 1..].lines().next().unwrap_or_default().trim();
        Some(Condition {
            text: shortened(&format!("{keyword} {}", &text[open..=close]).replace("verify (", "verify(")),
            statement_follows: !matches!(behind, "" | "{" | ";"),
        })
    }

    /// The cases of the `select` or `switch` that begins in that line: the text before each colon, and what follows up
    /// to the semicolon.
    pub fn cases(&mut self, program: &Program, location: Location) -> Option<Vec<(String, String)>> {
        let text = joined(self.from(program, location)?);
        let first_line = text.lines().next()?;
        let start = ["select", "switch"]
            .into_iter()
            .find_map(|keyword| word_before_parenthesis(first_line, keyword))?;
        let keys_end = closing(&text, start + text[start..].find('(')?)?;
        let open = keys_end + text[keys_end..].find('{')?;
        let close = closing(&text, open)?;
        Some(split_cases(&text[open + 1..close]))
    }

    /// The line in which a parser's state is declared whose first step is there.
    pub fn line_of_state(&mut self, program: &Program, name: &str, location: Location) -> Option<u32> {
        let lines = self.lines(program, location)?;
        let name = name.rsplit('.').next()?;
        let first = (location.line as usize).min(lines.len());
        let declares = |line: &String| {
            let behind = line.trim_start().strip_prefix("state ").map(str::trim_start);
            let rest = behind.and_then(|behind| behind.strip_prefix(name));
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        let found = lines[..first].iter().rposition(declares)?;
        Some(found as u32 + 1)
    }

    fn lines(&mut self, program: &Program, location: Location) -> Option<&[String]> {
        let path = program.files.get(location.file as usize)?;
        let lines = self.files.entry(location.file).or_insert_with(|| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.lines().map(without_comment).collect()
        });
        Some(lines)
    }

    /// The lines from a place on.
    fn from(&mut self, program: &Program, location: Location) -> Option<&[String]> {
        let lines = self.lines(program, location)?;
        lines.get((location.line as usize).checked_sub(1)?..)
    }
}

fn without_comment(line: &str) -> String {
    line.split("//").next().unwrap_or_default().to_string()
}

fn joined(lines: &[String]) -> String {
    lines[..lines.len().min(LINES_MAX)].join("\n")
}

/// The text on one line, with one blank for several, cut where it becomes long.
fn shortened(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= CHARACTERS_MAX {
        return text;
    }
    let shown: String = text.chars().take(CHARACTERS_MAX).collect();
    shown + "..."
}

/// Where a word begins that stands alone and before a parenthesis.
fn word_before_parenthesis(line: &str, word: &str) -> Option<usize> {
    let mut places = line.match_indices(word).map(|(place, _)| place);
    places.find(|&place| {
        let is_begun = line[..place].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
        !is_begun && line[place + word.len()..].trim_start().starts_with('(')
    })
}

/// Where the bracket at `open` is closed.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (place, c) in text[open..].char_indices() {
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return Some(open + place);
        }
    }
    None
}

/// The cases between the braces of a `select` or `switch`.
fn split_cases(mut text: &str) -> Vec<(String, String)> {
    let mut cases = Vec::new();
    while let Some(colon) = at_depth_0(text, ':') {
        let label = shortened(&text[..colon]);
        let behind = text[colon + 1..].trim_start();
        let (target, rest) = if behind.starts_with('{') {
            match closing(behind, 0) {
                Some(end) => ("", &behind[end + 1..]),
                None => break,
            }
        } else {
            // A case of a `switch` without statements falls through: the next label follows at once.
            match (at_depth_0(behind, ';'), at_depth_0(behind, ':')) {
                (Some(end), next) if next.is_none_or(|next| end < next) => (&behind[..end], &behind[end + 1..]),
                (_, Some(_)) => ("", behind),
                _ => break,
            }
        };
        cases.push((label, target.trim().to_string()));
        text = rest;
    }
    cases
}

/// The first of these characters outside of brackets.
fn at_depth_0(text: &str, wanted: char) -> Option<usize> {
    let mut depth = 0;
    for (place, c) in text.char_indices() {
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            _ if c == wanted && depth == 0 => return Some(place),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_ir::Architecture;

    /// Source lines of one file, and a place for each of its lines.
    fn source(text: &str) -> (SourceLines, Program) {
        let mut program = Program::new(Architecture::V1Model);
        program.files.push("test.p4".to_string());
        let lines = text.lines().map(without_comment).collect();
        let files = [(0, lines)].into_iter().collect();
        (SourceLines { files }, program)
    }

    fn at(line: u32) -> Location {
        Location { file: 0, line }
    }

    #[test]
    fn conditions_are_shown_as_they_are_written() {
        let text = "\
} else if (hdr.a.isValid() // first
           && hdr.b.f == 1) {
    hdr.stack[i].setValid();
    verify(hdr.ipv4.ihl >= 5, error.Short);
    if (x) y = 1;
    x = gif(1);";
        let (mut source, program) = source(text);
        let mut condition = |line| source.condition(&program, at(line));
        let first = condition(1).expect("an if");
        assert_eq!(first.text, "if (hdr.a.isValid() && hdr.b.f == 1)");
        assert!(!first.statement_follows);
        assert_eq!(condition(3), None, "a bounds check of the compiler");
        assert_eq!(
            condition(4).expect("a verify").text,
            "verify(hdr.ipv4.ihl >= 5, error.Short)"
        );
        assert!(condition(5).expect("an if").statement_follows);
        assert_eq!(condition(6), None);
    }

    #[test]
    fn cases_have_labels_and_states() {
        let text = "\
transition select(hdr.a.x, hdr.a.y) {
    (TYPE_A, 1 &&& 3): parse_a;
    (1..4, _): accept; // a range
    default: reject;
}
switch (t.apply().action_run) {
    drop: { x = 1; }
    one: two: { y = 1; }
}";
        let (mut source, program) = source(text);
        let mut cases = |line| source.cases(&program, at(line)).expect("cases");
        let owned = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
        };
        let of_select = [
            ("(TYPE_A, 1 &&& 3)", "parse_a"),
            ("(1..4, _)", "accept"),
            ("default", "reject"),
        ];
        assert_eq!(cases(1), owned(&of_select));
        assert_eq!(cases(6), owned(&[("drop", ""), ("one", ""), ("two", "")]));
    }

    #[test]
    fn a_state_is_shown_where_it_is_declared() {
        let text = "state start {\n transition next; }\nstate next_one {\n x = 1;\n}\nstate next {\n\n y = 1;\n";
        let (mut source, program) = source(text);
        assert_eq!(source.line_of_state(&program, "sub.next", at(8)), Some(6));
        assert_eq!(source.line_of_state(&program, "start", at(2)), Some(1));
        assert_eq!(source.line_of_state(&program, "other", at(8)), None);
    }
}
