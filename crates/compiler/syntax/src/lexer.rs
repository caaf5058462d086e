//! Text to tokens (P4_16 specification, "Lexical constructs").
//!
//! The lexer never fails: what it cannot read becomes a token of a kind of its own ([`TokenKind::Unknown`],
//! [`TokenKind::UnterminatedString`], [`TokenKind::UnterminatedComment`]), which the preprocessor reports if it is
//! not in a part of the file that a condition leaves out. An integer literal is taken to be any run of
//! letters, digits and underscores that begins with a digit; [`parse_integer`] reads its value later, because only
//! then macros have been expanded.
//!
//! A backslash at the end of a line joins the line to the next one, also in the middle of a token (§6.2): the token's
//! text is without the two characters, its span has them. Blanks may stand between the two, as GNU's preprocessor,
//! which p4c runs, has it.

use crate::ast::{IntLiteral, Signedness};
use crate::source::{FileId, Span};
use crate::token::{Interner, PUNCTUATION, Symbol, Token, TokenKind};
use num_bigint::BigInt;
use num_traits::Num;

/// Reads a whole file. Lines end with a [`TokenKind::Newline`] token; the last token is [`TokenKind::EndOfFile`].
pub fn tokenize(file: FileId, text: &str, interner: &mut Interner) -> Vec<Token> {
    let start = if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    };
    tokenize_from(file, text, start, interner)
}

/// Reads a part of a file, given by offsets in bytes, as if the file ended with it.
pub fn tokenize_window(
    file: FileId,
    text: &str,
    window: std::ops::Range<usize>,
    interner: &mut Interner,
) -> Vec<Token> {
    let mut tokens = tokenize_from(file, &text[..window.end], window.start, interner);
    if let Some(first) = tokens.first_mut() {
        first.starts_line = false;
    }
    tokens
}

/// Reads a file from an offset in bytes to its end. The offset is that of a character.
pub fn tokenize_from(file: FileId, text: &str, start: usize, interner: &mut Interner) -> Vec<Token> {
    let mut lexer = Lexer {
        file,
        text,
        position: start,
        interner,
        tokens: Vec::new(),
        spaced: false,
        starts_line: true,
    };
    while lexer.next_token() {}
    lexer.tokens
}

struct Lexer<'a> {
    file: FileId,
    text: &'a str,
    position: usize,
    interner: &'a mut Interner,
    tokens: Vec<Token>,
    spaced: bool,
    starts_line: bool,
}

impl Lexer<'_> {
    /// Reads one token; false after the last.
    fn next_token(&mut self) -> bool {
        if !self.skip_space() {
            self.push(TokenKind::UnterminatedComment, self.position, self.text.len());
        }
        let start = self.position;
        let Some(first) = self.rest().chars().next() else {
            self.push(TokenKind::EndOfFile, start, start);
            return false;
        };
        match first {
            '\n' => self.newline(),
            '"' => self.string(),
            'a'..='z' | 'A'..='Z' | '_' => self.word(),
            first if !first.is_ascii() && first.is_alphabetic() => self.word(),
            '0'..='9' => self.number(),
            '@' if self.at_pragma() => self.take(TokenKind::Pragma, "@pragma".len()),
            first => self.punctuation(first),
        }
        true
    }

    fn rest(&self) -> &str {
        &self.text[self.position..]
    }

    fn byte(&self, distance: usize) -> u8 {
        self.text.as_bytes().get(self.position + distance).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: TokenKind, start: usize, end: usize) {
        let text = if kind.is_punctuation() {
            ""
        } else {
            &self.text[start..end]
        };
        let text = self.interner.intern(text);
        self.push_interned(kind, text, start, end);
    }

    fn push_interned(&mut self, kind: TokenKind, text: Symbol, start: usize, end: usize) {
        let span = Span::new(self.file, start as u32, end as u32);
        let (spaced, starts_line) = (self.spaced, self.starts_line);
        self.tokens.push(Token {
            kind,
            text,
            span,
            origin: None,
            spaced,
            starts_line,
            painted: false,
        });
        self.spaced = false;
        self.starts_line = false;
        self.position = end;
    }

    fn take(&mut self, kind: TokenKind, length: usize) {
        self.push(kind, self.position, self.position + length);
    }

    /// Skips spaces, comments and continued line ends; false at a comment that has no end.
    fn skip_space(&mut self) -> bool {
        loop {
            let length = match (self.byte(0), self.byte(1)) {
                (b' ' | b'\t' | b'\r' | 0x0b | 0x0c, _) => 1,
                (b'\\', _) if splice_length(self.rest()) > 0 => splice_length(self.rest()),
                (b'/', b'/') => self.line_comment_length(),
                (b'/', b'*') => match self.rest()[2..].find("*/") {
                    Some(length) => length + 4,
                    None => return false,
                },
                _ => return true,
            };
            self.position += length;
            self.spaced = true;
        }
    }

    /// The length of a `//` comment without the end of its line; a backslash there continues it.
    fn line_comment_length(&self) -> usize {
        let rest = self.rest();
        let mut from = 0;
        while let Some(newline) = rest[from..].find('\n') {
            let end = from + newline;
            if !rest[..end].trim_end_matches(BLANKS).ends_with('\\') {
                return end;
            }
            from = end + 1;
        }
        rest.len()
    }

    fn newline(&mut self) {
        self.take(TokenKind::Newline, 1);
        self.starts_line = true;
    }

    fn at_pragma(&self) -> bool {
        let after = self
            .rest()
            .strip_prefix("@pragma")
            .map(|rest| rest.bytes().next().unwrap_or(b' '));
        after.is_some_and(|byte| !byte.is_ascii_alphanumeric() && byte != b'_')
    }

    /// The length of the word or number here, lines that are joined within it included.
    fn word_length(&self) -> usize {
        let rest = self.rest();
        let mut end = run_length(rest);
        loop {
            let mut next = end;
            while splice_length(&rest[next..]) > 0 {
                next += splice_length(&rest[next..]);
            }
            let more = run_length(&rest[next..]);
            if next == end || more == 0 {
                return end;
            }
            end = next + more;
        }
    }

    /// The text of a token of this length, without the ends of joined lines.
    fn intern_spliced(&mut self, length: usize) -> Symbol {
        let text = &self.text[self.position..self.position + length];
        if !text.contains('\\') {
            return self.interner.intern(text);
        }
        let joined: String = text
            .chars()
            .filter(|letter| !matches!(letter, '\\' | '\n') && !BLANKS.contains(letter))
            .collect();
        self.interner.intern(&joined)
    }

    /// A word. One with letters that P4 does not allow in names is of a kind of its own.
    fn word(&mut self) {
        let length = self.word_length();
        let behind = &self.rest()[length..];
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let foreign = behind.find(|letter| !is_part(letter)).unwrap_or(behind.len());
        if foreign > 0 {
            return self.take(TokenKind::Unknown, length + foreign);
        }
        let text = self.intern_spliced(length);
        self.push_interned(
            self.interner.word_kind(text),
            text,
            self.position,
            self.position + length,
        );
    }

    fn number(&mut self) {
        let length = self.word_length();
        let text = self.intern_spliced(length);
        self.push_interned(TokenKind::Integer, text, self.position, self.position + length);
    }

    /// A string literal. It may go over several lines; one that is never closed is taken to end with its first.
    fn string(&mut self) {
        let rest = self.rest();
        let mut escaped = false;
        for (index, byte) in rest.bytes().enumerate().skip(1) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => return self.take(TokenKind::StringLiteral, index + 1),
                _ => {}
            }
        }
        let line = rest.find('\n').unwrap_or(rest.len());
        self.take(TokenKind::UnterminatedString, line);
    }

    fn punctuation(&mut self, first: char) {
        let rest = self.rest();
        // No expression has `*` and `/` together, but a comment may begin with the second of them.
        if rest.starts_with("*/") && !rest[2..].starts_with(['*', '/']) {
            return self.take(TokenKind::Unknown, 2);
        }
        let found = PUNCTUATION
            .iter()
            .find_map(|(text, kind)| Some((prefix_length(rest, text)?, *kind)));
        match found {
            Some((length, kind)) => self.take(kind, length),
            None => self.take(TokenKind::Unknown, first.len_utf8()),
        }
    }
}

/// How many letters, digits and underscores the text begins with.
fn run_length(text: &str) -> usize {
    let end = text
        .bytes()
        .position(|byte| !byte.is_ascii_alphanumeric() && byte != b'_');
    end.unwrap_or(text.len())
}

/// What may stand between a backslash and the end of the line that it joins to the next one.
pub(crate) const BLANKS: [char; 3] = [' ', '\t', '\r'];

/// The length of the backslash and the end of a line with which the text begins: zero, if it does not.
fn splice_length(text: &str) -> usize {
    let behind = text.strip_prefix('\\').unwrap_or_default();
    match behind.trim_start_matches(BLANKS) {
        end if end.starts_with('\n') => text.len() - end.len() + 1,
        _ => 0,
    }
}

/// How much of the text the operator takes, if the text begins with it; lines may be joined between its characters.
fn prefix_length(text: &str, operator: &str) -> Option<usize> {
    let mut length = 0;
    for (index, byte) in operator.bytes().enumerate() {
        while index > 0 && splice_length(&text[length..]) > 0 {
            length += splice_length(&text[length..]);
        }
        if text.as_bytes().get(length) != Some(&byte) {
            return None;
        }
        length += 1;
    }
    Some(length)
}

/// Why an integer literal is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerError {
    /// No digit follows the width or the prefix of the base.
    NoDigits,
    /// A character is not a digit of the base.
    InvalidDigit {
        /// The character.
        digit: char,
        /// The base, from 2 to 16.
        base: u32,
    },
    /// The width does not fit into 32 bits.
    WidthTooLarge,
    /// It is longer than [`MAX_INTEGER_DIGITS`].
    TooLong,
}

/// The longest integer literal, in characters: reading one takes quadratic time.
pub const MAX_INTEGER_DIGITS: usize = 10_000;

/// Reads an integer literal: `[WIDTH w|s] [0x|0d|0o|0b] DIGITS`, underscores allowed among the digits.
pub fn parse_integer(text: &str) -> Result<IntLiteral, IntegerError> {
    if text.len() > MAX_INTEGER_DIGITS {
        return Err(IntegerError::TooLong);
    }
    let prefix = text
        .bytes()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    let (width, digits) = match text.as_bytes().get(prefix) {
        Some(b'w') => (Some((&text[..prefix], Signedness::Unsigned)), &text[prefix + 1..]),
        Some(b's') => (Some((&text[..prefix], Signedness::Signed)), &text[prefix + 1..]),
        _ => (None, text),
    };
    let width = match width {
        None => None,
        Some((width, sign)) => Some((width.parse().map_err(|_| IntegerError::WidthTooLarge)?, sign)),
    };
    Ok(IntLiteral {
        value: parse_digits(digits)?,
        width,
    })
}

fn parse_digits(text: &str) -> Result<BigInt, IntegerError> {
    let (base, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &text[2..]),
        [b'0', b'd' | b'D', ..] => (10, &text[2..]),
        [b'0', b'o' | b'O', ..] => (8, &text[2..]),
        [b'0', b'b' | b'B', ..] => (2, &text[2..]),
        _ => (10, text),
    };
    let plain: String = digits.chars().filter(|digit| *digit != '_').collect();
    if let Some(digit) = plain.chars().find(|digit| !digit.is_digit(base)) {
        return Err(IntegerError::InvalidDigit { digit, base });
    }
    BigInt::from_str_radix(&plain, base).map_err(|_| IntegerError::NoDigits)
}

/// The value of a string literal: without its quotation marks, `\"` `\\` and `\n` replaced, a backslash at the
/// end of a line taken out together with the line end.
pub fn unescape(literal: &str) -> String {
    let inner = literal.strip_prefix('"').unwrap_or(literal);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(backslash) = rest.find('\\') {
        out.push_str(&rest[..backslash]);
        rest = &rest[backslash..];
        let joined = splice_length(rest);
        let (replacement, length) = match rest[1..].chars().next() {
            _ if joined > 0 => ("", joined),
            Some('n') => ("\n", 2),
            Some('t') => ("\t", 2),
            Some('"') => ("\"", 2),
            Some('\\') => ("\\", 2),
            _ => ("\\", 1),
        };
        out.push_str(replacement);
        rest = &rest[length..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokenize(FileId(0), text, &mut Interner::default())
            .into_iter()
            .map(|token| token.kind)
            .collect()
    }

    #[test]
    fn operators_are_as_long_as_possible() {
        use TokenKind::*;
        assert_eq!(
            kinds("a|+|=b&&&c..d"),
            [
                Identifier,
                SaturatingAddAssign,
                Identifier,
                Mask,
                Identifier,
                Range,
                Identifier,
                EndOfFile
            ]
        );
        assert_eq!(
            kinds("{#} >>= 0..5"),
            [Invalid, RightAngle, GreaterEqual, Integer, Range, Integer, EndOfFile]
        );
    }

    #[test]
    fn comments_and_continued_lines_are_space() {
        use TokenKind::*;
        assert_eq!(
            kinds("a /* x\n */ b // c \\\n d\ne \\\n f"),
            [Identifier, Identifier, Newline, Identifier, Identifier, EndOfFile]
        );
        assert_eq!(kinds("a /* b"), [Identifier, UnterminatedComment, EndOfFile]);
        assert_eq!(kinds("a */ b"), [Identifier, Unknown, Identifier, EndOfFile]);
        assert_eq!(kinds("a */* c */ b"), [Identifier, Star, Identifier, EndOfFile]);
        assert_eq!(kinds("a *// c"), [Identifier, Star, EndOfFile]);
        assert_eq!(kinds("\"abc\nx"), [UnterminatedString, Newline, Identifier, EndOfFile]);
        assert_eq!(kinds("'\u{e9}"), [Unknown, Unknown, EndOfFile]);
        assert_eq!(kinds("gr\u{f6}\u{df}e = 1"), [Unknown, Assign, Integer, EndOfFile]);
    }

    #[test]
    fn lines_are_joined_within_tokens() {
        let mut interner = Interner::default();
        let tokens = tokenize(
            FileId(0),
            "LONG_\\\nNAME 8w\\\r\n1\\\n\\\n6 a &\\ \t\n&& b\\ \n c // \\ \n still",
            &mut interner,
        );
        let texts: Vec<&str> = tokens.iter().map(|token| token.spelling(&interner)).collect();
        assert_eq!(texts, ["LONG_NAME", "8w16", "a", "&&&", "b", "c", ""]);
        assert_eq!((tokens[0].span.start, tokens[0].span.end), (0, 11));
        assert_eq!(kinds("hea\\\nder"), [TokenKind::Header, TokenKind::EndOfFile]);
        assert_eq!(
            kinds("a\\b"),
            [
                TokenKind::Identifier,
                TokenKind::Unknown,
                TokenKind::Identifier,
                TokenKind::EndOfFile
            ]
        );
    }

    #[test]
    fn integers_have_widths_and_bases() {
        let value = |text| parse_integer(text).map(|literal| (literal.value.to_string(), literal.width));
        assert_eq!(
            value("8w0xFF").unwrap(),
            ("255".into(), Some((8, Signedness::Unsigned)))
        );
        assert_eq!(value("4s0b0_11").unwrap(), ("3".into(), Some((4, Signedness::Signed))));
        assert_eq!(value("1_000").unwrap(), ("1000".into(), None));
        assert_eq!(value("0o17").unwrap(), ("15".into(), None));
        for wrong in ["8wx", "0x", "12ab", "0b12", "99999999999w1", "8w", "8w-1", "0x_"] {
            assert!(value(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn strings_are_unescaped() {
        assert_eq!(unescape(r#""a\"b\\c\nd\q""#), "a\"b\\c\nd\\q");
    }
}
