//! A line as words, as a shell reads it: separated by blanks, quotes keep blanks, `#` begins a comment.

use crate::mistake::Mistake;

/// The mark with which some editors begin a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The words of a line.
///
/// # Errors
/// When a quote is not closed.
pub fn split(line: &str) -> Result<Vec<String>, Mistake> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' | '\'' => word.get_or_insert_default().push_str(&quoted(letter, &mut letters)?),
            '#' if word.is_none() => break,
            blank if blank.is_whitespace() || blank == BYTE_ORDER_MARK => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

/// What stands before the closing quote.
fn quoted(quote: char, letters: &mut std::str::Chars<'_>) -> Result<String, Mistake> {
    match letters.as_str().split_once(quote) {
        Some((inside, rest)) => {
            *letters = rest.chars();
            Ok(inside.to_string())
        }
        None => Err(Mistake::new(format!("the quote {quote} is not closed"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_quotes_and_comments() {
        let words = split("table add  x 'a b'c \"\" # note").unwrap();
        assert_eq!(words, ["table", "add", "x", "a bc", ""]);
        assert_eq!(split("# all of it").unwrap(), Vec::<String>::new());
        assert_eq!(split("port#1").unwrap(), ["port#1"]);
        assert_eq!(split("\u{feff}table dump").unwrap(), ["table", "dump"]);
        assert_eq!(split("\u{feff}# note").unwrap(), Vec::<String>::new());
        assert!(split("it's").is_err());
    }
}
