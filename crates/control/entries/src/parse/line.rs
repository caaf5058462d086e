//! A line and how far it has been read.

use super::ParseError;
use crate::Literal;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Longest stretch of the user's text that a message repeats, in characters.
const MAX_QUOTED: usize = 40;

/// A line without its comment.
pub struct Line<'a> {
    text: &'a str,
    number: u32,
    /// Byte offset of what comes next.
    position: usize,
}

impl<'a> Line<'a> {
    pub fn new(text: &'a str, number: u32) -> Line<'a> {
        let mut line = Line {
            text: without_comment(text),
            number,
            position: 0,
        };
        line.skip_blanks();
        line
    }

    pub fn at_end(&self) -> bool {
        self.rest().is_empty()
    }

    /// Column of what comes next.
    pub fn column(&self) -> u32 {
        self.text[..self.position].chars().count() as u32 + 1
    }

    pub fn error(&self, message: impl Into<String>) -> ParseError {
        self.error_at(self.column(), message)
    }

    pub fn error_at(&self, column: u32, message: impl Into<String>) -> ParseError {
        ParseError {
            line: self.number,
            column,
            message: message.into(),
        }
    }

    /// "expected WHAT, found ..." at what comes next.
    pub fn expected(&self, what: &str) -> ParseError {
        let found = match self.rest().split_whitespace().next() {
            None => "the end of the line".to_string(),
            Some(word) => format!("`{}`", word.chars().take(MAX_QUOTED).collect::<String>()),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    /// An error unless everything has been read.
    pub fn end(&self) -> Result<(), ParseError> {
        if self.at_end() {
            Ok(())
        } else {
            Err(self.expected("the end of the line"))
        }
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes the symbol if it comes next.
    pub fn accept(&mut self, symbol: &str) -> bool {
        let comes = self.rest().starts_with(symbol);
        if comes {
            self.position += symbol.len();
            self.skip_blanks();
        }
        comes
    }

    pub fn symbol(&mut self, symbol: &str) -> Result<(), ParseError> {
        if self.accept(symbol) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{symbol}`")))
        }
    }

    /// The word that begins a command, in lower case.
    pub fn keyword(&mut self) -> Result<String, ParseError> {
        match self.take_while(is_name_part) {
            "" => Err(self.expected("a command")),
            word => {
                let keyword = word.chars().take(MAX_QUOTED).collect::<String>().to_ascii_lowercase();
                self.skip_blanks();
                Ok(keyword)
            }
        }
    }

    /// A name between quotes, or identifiers joined by dots, each perhaps with an index: `hdr.stack[1].field`.
    pub fn qualified_name(&mut self, what: &str) -> Result<String, ParseError> {
        let mut name = String::new();
        loop {
            name.push_str(self.name_part(what)?);
            if self.validity_follows(&name) {
                name.push_str("()");
                self.position += 2;
                break;
            }
            if self.rest().starts_with('[') {
                name.push_str(self.index()?);
            }
            if !self.rest().starts_with('.') {
                break;
            }
            self.position += 1;
            name.push('.');
        }
        self.skip_blanks();
        Ok(name)
    }

    /// A decimal number of at most 32 bits.
    pub fn number_u32(&mut self, what: &str) -> Result<u32, ParseError> {
        let column = self.column();
        let value = self.number_u64(what)?;
        u32::try_from(value).map_err(|_| self.error_at(column, format!("{value} is too large for {what}")))
    }

    /// A number of at most 64 bits without wildcards.
    pub fn number_u64(&mut self, what: &str) -> Result<u64, ParseError> {
        let column = self.column();
        let literal = self.literal(what)?;
        literal
            .to_u64()
            .ok_or_else(|| self.error_at(column, format!("expected {what}, found a number that is none")))
    }

    /// A number, perhaps with wildcards.
    pub fn literal(&mut self, what: &str) -> Result<Literal, ParseError> {
        if let Some(number) = self.address() {
            return Err(self.error(format!("STF has no addresses, only numbers: write {number}")));
        }
        if !self.peek().is_some_and(|c| c.is_ascii_digit()) {
            return Err(self.expected(what));
        }
        let column = self.column();
        let text = self.take_while(|c| c.is_ascii_alphanumeric() || c == '*');
        let literal = Literal::parse(text).map_err(|message| self.error_at(column, message))?;
        self.skip_blanks();
        Ok(literal)
    }

    /// A number without wildcards.
    pub fn plain_literal(&mut self, what: &str) -> Result<Literal, ParseError> {
        let column = self.column();
        let literal = self.literal(what)?;
        if literal.has_wildcards() {
            return Err(self.error_at(column, format!("{what} has no `*`")));
        }
        Ok(literal)
    }

    /// The IPv4, IPv6 or MAC address that comes next, as a number.
    fn address(&self) -> Option<String> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_hexdigit() && c != '.' && c != ':');
        let text = &rest[..end.unwrap_or(rest.len())];
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(format!("{:#010x}", address.to_bits()));
        }
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Some(format!("{:#034x}", address.to_bits()));
        }
        let octets: Vec<&str> = text.split(':').collect();
        let is_mac = octets.len() == 6 && octets.iter().all(|octet| octet.len() == 2);
        is_mac.then(|| format!("0x{}", octets.concat()))
    }

    /// Takes characters as long as they belong; blanks after them stay.
    pub fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.position += end;
        &rest[..end]
    }

    /// Takes one character and the blanks after it.
    pub fn take_one(&mut self) {
        if let Some(c) = self.peek() {
            self.position += c.len_utf8();
        }
        self.skip_blanks();
    }

    fn skip_blanks(&mut self) {
        self.take_while(char::is_whitespace);
    }

    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    /// Whether `()` follows a name that ends with `isValid` and is a key field: then a `:` comes after it.
    fn validity_follows(&self, name: &str) -> bool {
        let behind = self.rest().strip_prefix("()");
        let is_key = behind.is_some_and(|behind| behind.trim_start().starts_with(':'));
        is_key && (name == "isValid" || name.ends_with(".isValid"))
    }

    fn name_part(&mut self, what: &str) -> Result<&'a str, ParseError> {
        if let Some(quoted) = self.rest().strip_prefix('"') {
            let Some(end) = quoted.find('"') else {
                return Err(self.error("this quotation mark is never closed"));
            };
            if end == 0 {
                return Err(self.error(format!("expected {what}, found an empty name")));
            }
            self.position += end + 2;
            return Ok(&quoted[..end]);
        }
        if self.peek().is_some_and(|c| c.is_ascii_digit()) {
            return Err(self.expected(what));
        }
        match self.take_while(is_name_part) {
            "" => Err(self.expected(what)),
            part => Ok(part),
        }
    }

    fn index(&mut self) -> Result<&'a str, ParseError> {
        let rest = self.rest();
        let end = rest
            .find(']')
            .ok_or_else(|| self.error("this bracket is never closed"))?;
        let digits = &rest[1..end];
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(self.error(
                "an index is a decimal number between brackets; a name with other characters stands between quotes",
            ));
        }
        self.position += end + 1;
        Ok(&rest[..end + 1])
    }
}

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// What stands before a `#` that is not between quotes.
fn without_comment(text: &str) -> &str {
    let mut quoted = false;
    for (index, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return &text[..index],
            _ => {}
        }
    }
    text
}
