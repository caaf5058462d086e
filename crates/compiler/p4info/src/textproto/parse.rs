//! Text to trees.

use super::{Field, MAX_DEPTH, ReadError, Tree, Value};

/// Reads the fields of a message.
pub fn parse(text: &str) -> Result<Tree, ReadError> {
    let mut parser = Parser {
        rest: text,
        line: 1,
        column: 1,
    };
    let tree = parser.fields(0)?;
    if parser.rest.is_empty() {
        Ok(tree)
    } else {
        parser.error("unexpected closing bracket")
    }
}

struct Parser<'a> {
    rest: &'a str,
    line: u32,
    column: u32,
}

type Parsed<T> = Result<T, ReadError>;

impl<'a> Parser<'a> {
    /// Fields up to the end or to a closing bracket, which stays.
    fn fields(&mut self, depth: usize) -> Parsed<Tree> {
        let mut tree = Vec::new();
        loop {
            self.skip_blank();
            match self.peek() {
                None | Some('}' | '>') => return Ok(tree),
                Some(_) => self.field(depth, &mut tree)?,
            }
            self.skip_blank();
            if !self.accept(',') {
                self.accept(';');
            }
        }
    }

    fn field(&mut self, depth: usize, tree: &mut Tree) -> Parsed<()> {
        let (line, column) = (self.line, self.column);
        let name = self.field_name()?;
        self.skip_blank();
        let has_colon = self.accept(':');
        self.skip_blank();
        let mut push = |value| {
            tree.push(Field {
                number: 0,
                name: name.clone(),
                value,
                line,
                column,
            })
        };
        if !self.accept('[') {
            if !has_colon && !matches!(self.peek(), Some('{' | '<')) {
                return self.error(format!("expected `:` or `{{` after `{name}`"));
            }
            push(self.value(depth)?);
            return Ok(());
        }
        self.skip_blank();
        if self.accept(']') {
            return Ok(());
        }
        loop {
            push(self.value(depth)?);
            self.skip_blank();
            if self.accept(']') {
                return Ok(());
            }
            if !self.accept(',') {
                return self.error("expected `,` or `]`");
            }
            self.skip_blank();
        }
    }

    /// `name`, or `[type.googleapis.com/some.Message]`.
    fn field_name(&mut self) -> Parsed<String> {
        if self.peek() == Some('[') {
            let Some(end) = self.rest.find(']') else {
                return self.error("expected `]`");
            };
            return Ok(self.take(end + 1).to_owned());
        }
        let name = self.take_while(is_word);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return self.error("expected a field's name");
        }
        Ok(name.to_owned())
    }

    fn value(&mut self, depth: usize) -> Parsed<Value> {
        match self.peek() {
            Some('{') => self.message('}', depth),
            Some('<') => self.message('>', depth),
            Some('"' | '\'') => self.strings(),
            Some('-') => self.negative(),
            Some(c) if c.is_ascii_digit() || c == '.' => Ok(Value::Number(self.take_while(is_number).to_owned())),
            Some(c) if is_word(c) => Ok(Value::Word(self.take_while(is_word).to_owned())),
            _ => self.error("expected a value"),
        }
    }

    fn negative(&mut self) -> Parsed<Value> {
        self.accept('-');
        self.skip_blank();
        let number = self.take_while(is_number);
        if number.is_empty() {
            self.error("expected a number")
        } else {
            Ok(Value::Number(format!("-{number}")))
        }
    }

    fn message(&mut self, close: char, depth: usize) -> Parsed<Value> {
        if depth >= MAX_DEPTH {
            return self.error(format!("messages are nested deeper than {MAX_DEPTH}"));
        }
        self.take(1);
        let fields = self.fields(depth + 1)?;
        if self.accept(close) {
            Ok(Value::Message(fields))
        } else {
            self.error(format!("expected `{close}`"))
        }
    }

    /// Strings that follow each other are one.
    fn strings(&mut self) -> Parsed<Value> {
        let mut bytes = Vec::new();
        while let Some(quote @ ('"' | '\'')) = self.peek() {
            self.take(1);
            self.string(quote, &mut bytes)?;
            self.skip_blank();
        }
        Ok(Value::Text(bytes))
    }

    fn string(&mut self, quote: char, bytes: &mut Vec<u8>) -> Parsed<()> {
        loop {
            let Some(character) = self.peek().filter(|c| *c != '\n') else {
                return self.error("the string does not end");
            };
            let text = self.take(character.len_utf8());
            match character {
                c if c == quote => return Ok(()),
                '\\' => self.escape(bytes)?,
                _ => bytes.extend(text.as_bytes()),
            }
        }
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Parsed<()> {
        let Some(character) = self.peek() else {
            return self.error("the string does not end");
        };
        if character.is_digit(8) {
            let digits = self.take_digits(3, |c| c.is_digit(8));
            return match u8::from_str_radix(digits, 8) {
                Ok(byte) => {
                    bytes.push(byte);
                    Ok(())
                }
                Err(_) => self.error("the number of this byte is too large"),
            };
        }
        self.take(character.len_utf8());
        match character {
            'x' | 'X' => {
                let digits = self.take_digits(2, |c| c.is_ascii_hexdigit());
                match u8::from_str_radix(digits, 16) {
                    Ok(byte) => bytes.push(byte),
                    Err(_) => return self.error("expected hexadecimal digits"),
                }
            }
            'u' => self.unicode(4, bytes)?,
            'U' => self.unicode(8, bytes)?,
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'a' => bytes.push(0x07),
            'b' => bytes.push(0x08),
            'f' => bytes.push(0x0c),
            'v' => bytes.push(0x0b),
            '?' | '\\' | '\'' | '"' => bytes.push(character as u8),
            _ => return self.error("unknown escape"),
        }
        Ok(())
    }

    fn unicode(&mut self, length: usize, bytes: &mut Vec<u8>) -> Parsed<()> {
        let digits = self.take_digits(length, |c| c.is_ascii_hexdigit());
        let code = if digits.len() == length {
            u32::from_str_radix(digits, 16).ok()
        } else {
            None
        };
        match code.and_then(char::from_u32) {
            Some(character) => {
                bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
                Ok(())
            }
            None => self.error("not a character's number"),
        }
    }

    fn skip_blank(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if self.peek() != Some('#') {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn accept(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.take(wanted.len_utf8());
        }
        found
    }

    /// At most `limit` ASCII characters.
    fn take_digits(&mut self, limit: usize, accept: impl Fn(char) -> bool) -> &'a str {
        let length = self.rest.chars().take(limit).take_while(|c| accept(*c)).count();
        self.take(length)
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

    fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(ReadError {
            line: self.line,
            column: self.column,
            message: message.into(),
        })
    }
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Characters of numbers in any base, floating point included.
fn is_number(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '+')
}
