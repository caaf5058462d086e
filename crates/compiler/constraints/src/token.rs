//! Words of the language, each with its place.

use crate::Mistake;
use num_bigint::BigInt;
use std::ops::Range;

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// Names with dots between them: `hdr.ipv4.dst`. P4Info also calls keys `hdr.ipv4.$valid$` and `hdr.tags[0].id`.
    Name(String),
    Number(BigInt),
    /// `'...'`
    Text(String),
    /// An operator or a bracket.
    Sign(&'static str),
    End,
}

impl Token {
    /// The word in a message.
    pub(crate) fn show(&self) -> String {
        match self {
            Token::Name(name) => format!("`{name}`"),
            Token::Number(number) => format!("`{number}`"),
            Token::Text(text) => format!("`'{text}'`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the constraint".to_string(),
        }
    }
}

/// Longer signs before those that they begin with.
const SIGNS: [&str; 15] = [
    "->", "&&", "||", "::", "==", "!=", "<=", ">=", "<", ">", "!", "-", "(", ")", ";",
];

/// A word with its place.
pub(crate) type Placed = (Token, Range<usize>);

/// All words of a text; the last is [`Token::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Placed>, Mistake> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at = skip_blanks(text, at)?;
        let (token, end) = token(text, at)?;
        let is_last = token == Token::End;
        tokens.push((token, at..end));
        at = end;
        if is_last {
            return Ok(tokens);
        }
    }
}

/// The place after blanks and comments.
fn skip_blanks(text: &str, mut at: usize) -> Result<usize, Mistake> {
    loop {
        let rest = &text[at..];
        let blanks = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        at += blanks;
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let length = comment.find("*/");
            let length = length.ok_or_else(|| Mistake::new(at..at + 2, "the comment has no end"))?;
            at += length + 4;
        } else {
            return Ok(at);
        }
    }
}

fn token(text: &str, at: usize) -> Result<(Token, usize), Mistake> {
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else {
        return Ok((Token::End, at));
    };
    if first.is_ascii_digit() {
        return number(text, at);
    }
    if is_name(first) {
        let length = name_length(rest);
        return Ok((Token::Name(rest[..length].to_string()), at + length));
    }
    if first == '\'' {
        let length = rest[1..].find('\'');
        let length = length.ok_or_else(|| Mistake::new(at..at + 1, "the string has no end"))?;
        return Ok((Token::Text(rest[1..=length].to_string()), at + length + 2));
    }
    match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) => Ok((Token::Sign(sign), at + sign.len())),
        None => {
            let end = at + first.len_utf8();
            Err(Mistake::new(
                at..end,
                format!("`{first}` has no meaning in a constraint"),
            ))
        }
    }
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_' || letter == '$'
}

/// Letters and digits, elements of stacks, and what follows dots.
fn name_length(text: &str) -> usize {
    let mut length = 0;
    let bytes = text.as_bytes();
    loop {
        let rest = &text[length..];
        length += rest
            .find(|letter| !is_name(letter) && !letter.is_ascii_digit())
            .unwrap_or(rest.len());
        if let Some(index) = text[length..].strip_prefix('[')
            && let Some(digits) = index.find(']')
            && index[..digits].bytes().all(|digit| digit.is_ascii_digit())
        {
            length += digits + 2;
        }
        let follows = bytes.get(length + 1).is_some_and(|next| is_name(char::from(*next)));
        if bytes.get(length) != Some(&b'.') || !follows {
            return length;
        }
        length += 1;
    }
}

fn number(text: &str, at: usize) -> Result<(Token, usize), Mistake> {
    let rest = &text[at..];
    let length = rest
        .find(|letter: char| !letter.is_ascii_alphanumeric())
        .unwrap_or(rest.len());
    let written = &rest[..length];
    let prefixes = [("0x", 16), ("0o", 8), ("0b", 2), ("0d", 10)];
    let lower = written.to_ascii_lowercase();
    let (digits, base) = prefixes
        .iter()
        .find_map(|(prefix, base)| Some((lower.strip_prefix(prefix)?, *base)))
        .unwrap_or((&lower, 10));
    let number = BigInt::parse_bytes(digits.as_bytes(), base);
    let wrong = || Mistake::new(at..at + length, format!("`{written}` is no number of base {base}"));
    Ok((Token::Number(number.ok_or_else(wrong)?), at + length))
}

/// A piece of a constraint without comments and line breaks.
pub(crate) fn on_one_line(text: &str) -> String {
    let mut line = String::new();
    let mut at = 0;
    while let Ok(start) = skip_blanks(text, at) {
        if start > at && !line.is_empty() && start < text.len() {
            line.push(' ');
        }
        let Ok((_, end)) = token(text, start) else { break };
        if end == start {
            break;
        }
        line.push_str(&text[start..end]);
        at = end;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let tokens = tokens(text).unwrap_or_else(|mistake| panic!("{mistake}"));
        tokens.iter().map(|(token, _)| token.show().replace('`', "")).collect()
    }

    #[test]
    fn words_and_comments() {
        let text = "hdr.a::mask // c\n -> /* d */ !x.$valid$&&s[1].f<=0X1f;'y'";
        let end = "the end of the constraint";
        let expected = [
            "hdr.a",
            "::",
            "mask",
            "->",
            "!",
            "x.$valid$",
            "&&",
            "s[1].f",
            "<=",
            "31",
            ";",
            "'y'",
            end,
        ];
        assert_eq!(words(text), expected);
        assert_eq!(on_one_line(" a == /* x */ 1\n  && b // z"), "a == 1 && b");
        assert_eq!(on_one_line("a /*/ b */ == 1"), "a == 1");
    }

    #[test]
    fn what_is_no_word() {
        for (text, place) in [
            ("a == 0b2", 5..8),
            ("/* x", 0..2),
            ("'x", 0..1),
            ("a # b", 2..3),
            ("12ab", 0..4),
        ] {
            assert_eq!(tokens(text).unwrap_err().place, place, "{text}");
        }
    }
}
