//! Converts text to tokens.
//!
//! Words are names as in P4 programs, including dots and constant indexes: `hdr.mpls[2].label` is one word, but
//! `hdr.ipv4.ttl[3:0]` is a word and a slice.

use super::ReadError;
use crate::verify::MAX_WIDTH;
use forebay_bits::Bits;

/// A piece of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name or keyword.
    Word(String),
    /// A string in quotes, escapes resolved.
    Quoted(String),
    /// A decimal number.
    Number(u64),
    /// `8w0x1f`
    Constant(Bits),
    /// An operator or a bracket.
    Mark(&'static str),
    /// The end of the text.
    End,
}

/// A token, and the position at which it begins.
#[derive(Clone, Debug)]
pub(super) struct Spanned {
    pub(super) token: Token,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// Operators and brackets. If one is a prefix of another, the longer one comes first.
const MARKS: &[&str] = &[
    "|+|s", "|-|s", "|+|", "|-|", "&&&", ">>s", "<=s", "<<", ">>", "<=", "<s", "==", "!=", "=>", "->", "++", "..", "+",
    "-", "*", "/", "%", "&", "|", "^", "<", ">", "=", "~", "?", ":", ",", "(", ")", "[", "]", "{", "}", "#", "!", "$",
    "@",
];

/// The number of bytes at the beginning of `text` that form one word.
pub(super) fn word_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let begins = |at: usize| bytes.get(at).is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
    let continues = |at: usize| {
        bytes
            .get(at)
            .is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$'))
    };
    if !begins(0) {
        return 0;
    }
    let mut at = 1;
    loop {
        if continues(at) {
            at += 1;
        } else if bytes.get(at) == Some(&b'.') && continues(at + 1) {
            at += 2;
        } else if let Some(length) = index_length(&bytes[at..]) {
            at += length;
        } else {
            return at;
        }
    }
}

/// The length of `[12]` at the beginning.
fn index_length(bytes: &[u8]) -> Option<usize> {
    if bytes.first() != Some(&b'[') {
        return None;
    }
    let digits = bytes[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0 && bytes.get(1 + digits) == Some(&b']')).then_some(digits + 2)
}

/// All tokens of a text; the last is [`Token::End`].
pub(super) fn tokenize(text: &str) -> Result<Vec<Spanned>, ReadError> {
    let mut lexer = Lexer {
        rest: text,
        line: 1,
        column: 1,
    };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank();
        let (line, column) = (lexer.line, lexer.column);
        let token = lexer.next_token()?;
        let at_end = token == Token::End;
        tokens.push(Spanned { token, line, column });
        if at_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
    column: u32,
}

impl<'a> Lexer<'a> {
    fn next_token(&mut self) -> Result<Token, ReadError> {
        let Some(first) = self.rest.chars().next() else {
            return Ok(Token::End);
        };
        if first == '"' {
            return self.string();
        }
        if first.is_ascii_digit() {
            return self.number();
        }
        let length = word_length(self.rest);
        if length > 0 {
            return Ok(Token::Word(self.take(length).to_owned()));
        }
        self.mark(first)
    }

    fn mark(&mut self, first: char) -> Result<Token, ReadError> {
        let found = MARKS.iter().find(|mark| {
            // `a <s b` compares signed values, but `a <small` compares with `small`.
            let stands_alone = || !mark.ends_with('s') || word_length(&self.rest[mark.len() - 1..]) == 1;
            self.rest.starts_with(**mark) && stands_alone()
        });
        match found {
            Some(mark) => {
                self.take(mark.len());
                Ok(Token::Mark(mark))
            }
            None => Err(self.error(format!("unexpected character {first:?}"))),
        }
    }

    fn number(&mut self) -> Result<Token, ReadError> {
        let digits = self.take_while(|c| c.is_ascii_digit());
        let value: u64 = digits
            .parse()
            .map_err(|_| self.error("the number is too large".to_owned()))?;
        if !self.rest.starts_with("w0x") {
            return Ok(Token::Number(value));
        }
        self.take(3);
        let hex = self.take_while(|c| c.is_ascii_hexdigit());
        if value > u64::from(MAX_WIDTH) {
            return Err(self.error(format!("the width {value} is larger than {MAX_WIDTH}")));
        }
        constant(value as u32, hex)
            .map(Token::Constant)
            .map_err(|message| self.error(message))
    }

    fn string(&mut self) -> Result<Token, ReadError> {
        self.take(1);
        let mut value = String::new();
        loop {
            let Some(character) = self.rest.chars().next() else {
                return Err(self.error("the string does not end".to_owned()));
            };
            self.take(character.len_utf8());
            match character {
                '"' => return Ok(Token::Quoted(value)),
                '\\' => value.push(self.escape()?),
                other => value.push(other),
            }
        }
    }

    fn escape(&mut self) -> Result<char, ReadError> {
        let character = self.rest.chars().next();
        self.take(character.map_or(0, char::len_utf8));
        match character {
            Some('n') => Ok('\n'),
            Some('t') => Ok('\t'),
            Some('"') => Ok('"'),
            Some('\\') => Ok('\\'),
            Some('u') => self.unicode_escape(),
            _ => Err(self.error("unknown escape in a string".to_owned())),
        }
    }

    fn unicode_escape(&mut self) -> Result<char, ReadError> {
        let code = self
            .rest
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'))
            .map(|(digits, _)| digits)
            .filter(|digits| digits.len() <= 6);
        let character = code
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .and_then(char::from_u32);
        match (code, character) {
            (Some(digits), Some(character)) => {
                self.take(digits.len() + 2);
                Ok(character)
            }
            _ => Err(self.error("not a character's number".to_owned())),
        }
    }

    fn skip_blank(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.rest.starts_with("//") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let length = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        self.take(length)
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        for character in taken.chars() {
            if character == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        self.rest = rest;
        taken
    }

    fn error(&self, message: String) -> ReadError {
        ReadError {
            line: self.line,
            column: self.column,
            message,
        }
    }
}

/// The value of hexadecimal digits, which must fit into the width.
fn constant(width: u32, hex: &str) -> Result<Bits, String> {
    if hex.is_empty() {
        return Err("digits are missing".to_owned());
    }
    let significant = hex.trim_start_matches('0');
    let nibble = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8;
    let mut bytes: Vec<u8> = significant
        .as_bytes()
        .rchunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | nibble(*digit)))
        .collect();
    bytes.reverse();
    let leading = bytes.first().map_or(0, |byte| byte.leading_zeros() as usize);
    if bytes.len() * 8 - leading > width as usize {
        return Err(format!("0x{significant} does not fit in {width} bits"));
    }
    Ok(Bits::from_bytes_be(width, &bytes))
}
