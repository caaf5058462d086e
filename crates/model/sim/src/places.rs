//! Where a key stands in a TOML text, for messages about values whose place the reader does not keep.

use std::ops::Range;

/// The place of a key in the table that a byte belongs to; none when the table does not have it.
pub fn key_place(text: &str, near: usize, key: &str) -> Option<Range<usize>> {
    let table = table_around(text, near);
    let begins_line = |at: usize| {
        text[table.start..at]
            .rsplit('\n')
            .next()
            .unwrap_or("")
            .trim()
            .is_empty()
    };
    let is_word = |character: char| character.is_alphanumeric() || character == '_' || character == '-';
    let stands = |at: &usize| {
        let (before, after) = (&text[..*at], &text[at + key.len()..]);
        !before.ends_with(is_word) && after.trim_start_matches([' ', '\t', '"']).starts_with('=')
    };
    let found = text[table.clone()].match_indices(key);
    let places: Vec<usize> = found.map(|(at, _)| table.start + at).filter(stands).collect();
    let of_table = places.iter().find(|at| begins_line(**at));
    // The key of an inline table may stand in the middle of a line.
    let inline = || places.iter().find(|at| **at >= near).or(places.first());
    of_table.or_else(inline).map(|at| *at..*at + key.len())
}

/// From the header of the table that a byte belongs to, to the next header.
fn table_around(text: &str, near: usize) -> Range<usize> {
    let mut table = 0..text.len();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') && line.trim_end().ends_with(']') {
            if at > near {
                table.end = at;
                break;
            }
            table.start = at;
        }
        at += line.len();
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\nab = 2\n[[t]]\nname = \"a = 7\"\nf = { x = 1, a = 2 }\n[[t]]\na = 3\n";

    #[test]
    fn a_key_is_found_in_its_own_table() {
        let line = |near: &str, key| {
            let place = key_place(TEXT, TEXT.find(near).unwrap(), key)?;
            Some(TEXT[..place.start].matches('\n').count() + 1)
        };
        assert_eq!(line("a = 1", "a"), Some(1));
        assert_eq!(line("a = 1", "ab"), Some(2));
        assert_eq!(line("f = {", "a"), Some(5));
        assert_eq!(line("a = 3", "a"), Some(7));
        assert_eq!(line("a = 3", "name"), None);
    }
}
