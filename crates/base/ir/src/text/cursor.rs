//! A position in the tokens, and the small steps that all readers use.

use super::ReadError;
use super::lexer::{Spanned, Token};
use super::names::{Keyword, NameTable, RESERVED, block_number};
use crate::{BlockId, Location};
use forebay_bits::Bits;

/// Result of a step.
pub(super) type Read<T> = Result<T, ReadError>;

/// A position in the tokens of a text, of which the last is [`Token::End`].
pub(super) struct Cursor {
    tokens: Vec<Spanned>,
    at: usize,
}

impl Cursor {
    pub(super) fn new(tokens: Vec<Spanned>) -> Self {
        Cursor { tokens, at: 0 }
    }

    /// The current position, for [`Cursor::go_to`].
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Goes back to an earlier position.
    pub(super) fn go_to(&mut self, position: usize) {
        self.at = position;
    }

    /// The current token.
    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    /// Returns the current token and advances, but never past the end.
    pub(super) fn advance(&mut self) -> Token {
        forebay_budget::check();
        let token = self.peek().clone();
        if token != Token::End {
            self.at += 1;
        }
        token
    }

    /// An error at the current token.
    pub(super) fn error<T>(&self, message: impl Into<String>) -> Read<T> {
        let Spanned { line, column, .. } = self.tokens[self.at];
        Err(ReadError {
            line,
            column,
            message: message.into(),
        })
    }

    /// The error that something else was expected.
    pub(super) fn expected<T>(&self, what: &str) -> Read<T> {
        self.error(format!("expected {what}, found {}", describe(self.peek())))
    }

    /// Whether the current token is this mark; if so, advances.
    pub(super) fn accept(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Token::Mark(here) if *here == mark);
        if found {
            self.at += 1;
        }
        found
    }

    /// Requires this mark, and advances.
    pub(super) fn expect(&mut self, mark: &str) -> Read<()> {
        if self.accept(mark) {
            Ok(())
        } else {
            self.expected(&format!("`{mark}`"))
        }
    }

    /// The current token if it is a word, without advancing.
    pub(super) fn peek_word(&self) -> Option<&str> {
        match self.peek() {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Whether the current token is this keyword; if so, advances.
    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == Some(word);
        if found {
            self.at += 1;
        }
        found
    }

    /// Requires this keyword, and advances.
    pub(super) fn expect_word(&mut self, word: &str) -> Read<()> {
        if self.accept_word(word) {
            Ok(())
        } else {
            self.expected(&format!("`{word}`"))
        }
    }

    /// The variant of an enumeration whose word is the current token.
    pub(super) fn keyword<K: Keyword>(&mut self) -> Read<K> {
        let Some(variant) = self.peek_word().and_then(K::from_word) else {
            let words: Vec<&str> = K::WORDS.iter().map(|(_, word)| *word).collect();
            return self.expected(&format!("one of {}", words.join(", ")));
        };
        self.at += 1;
        Ok(variant)
    }

    /// A name, plain or in quotes.
    pub(super) fn name(&mut self) -> Read<String> {
        let name = match self.peek() {
            Token::Word(word) if !RESERVED.contains(&word.as_str()) && block_number(word).is_none() => word.clone(),
            Token::Quoted(text) => text.clone(),
            _ => return self.expected("a name"),
        };
        self.at += 1;
        Ok(name)
    }

    /// A string in quotes.
    pub(super) fn string(&mut self) -> Read<String> {
        match self.peek() {
            Token::Quoted(text) => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => self.expected("a string"),
        }
    }

    /// A decimal number of at most 64 bits.
    pub(super) fn number(&mut self) -> Read<u64> {
        match *self.peek() {
            Token::Number(value) => {
                self.at += 1;
                Ok(value)
            }
            _ => self.expected("a number"),
        }
    }

    /// A decimal number of at most 32 bits.
    pub(super) fn number32(&mut self) -> Read<u32> {
        match *self.peek() {
            Token::Number(value) if value > u64::from(u32::MAX) => self.error("the number is too large"),
            _ => self.number().map(|value| value as u32),
        }
    }

    /// A constant.
    pub(super) fn constant(&mut self) -> Read<Bits> {
        match self.peek() {
            Token::Constant(value) => {
                let value = value.clone();
                self.at += 1;
                Ok(value)
            }
            _ => self.expected("a constant"),
        }
    }

    /// The name in a declaration. If its index is written, it must be `index`.
    pub(super) fn declared_name(&mut self, index: usize) -> Read<String> {
        let name = self.name()?;
        if self.accept("#") && self.number()? != index as u64 {
            return self.error(format!("this `{name}` has index {index}"));
        }
        Ok(name)
    }

    /// A reference to something in `table`.
    pub(super) fn reference(&mut self, table: &NameTable) -> Read<u32> {
        if self.accept("!") {
            return self.number32();
        }
        let name = self.name()?;
        if !self.accept("#") {
            return table.lookup(&name).or_else(|message| {
                self.at -= 1;
                self.error(message)
            });
        }
        let index = self.number32()?;
        if table.is_named(index, &name) {
            Ok(index)
        } else {
            self.error(format!("`{name}` is not number {index}"))
        }
    }

    /// `block3`
    pub(super) fn block(&mut self) -> Read<BlockId> {
        let Some(number) = self.peek_word().and_then(block_number) else {
            return self.expected("a block");
        };
        self.at += 1;
        Ok(BlockId(number))
    }

    /// `@0:12`, or nothing.
    pub(super) fn location(&mut self) -> Read<Location> {
        if !self.accept("@") {
            return Ok(Location::default());
        }
        let file = self.number32()?;
        self.expect(":")?;
        Ok(Location {
            file,
            line: self.number32()?,
        })
    }

    /// Items separated by commas, up to and including the mark `close`.
    pub(super) fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut items = Vec::new();
        if self.accept(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.accept(close) {
                return Ok(items);
            }
            self.expect(",")?;
        }
    }

    /// Items up to and including the mark `}`.
    pub(super) fn braced(&mut self, mut item: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.expect("{")?;
        while !self.accept("}") {
            item(self)?;
        }
        Ok(())
    }
}

fn describe(token: &Token) -> String {
    match token {
        Token::Word(word) => format!("`{word}`"),
        Token::Quoted(_) => "a string".to_owned(),
        Token::Number(value) => format!("`{value}`"),
        Token::Constant(value) => format!("`{value}`"),
        Token::Mark(mark) => format!("`{mark}`"),
        Token::End => "the end".to_owned(),
    }
}
