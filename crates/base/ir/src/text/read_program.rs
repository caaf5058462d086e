//! Reads declarations.
//!
//! There are two passes. The first collects the names of all declarations, so that the second can resolve forward
//! references (a slot names its header, an action its body).

use super::ReadError;
use super::cursor::{Cursor, Read};
use super::lexer::{Token, tokenize};
use super::names::{DECLARATIONS, Names};
use super::write_expr::body_owners;
use crate::{Architecture, BodyId, Header, HeaderField, HeaderId, Program, Slot, SlotId, SlotKind};

/// Reads a program.
pub(super) fn read(text: &str) -> Result<Program, ReadError> {
    let mut cursor = Cursor::new(tokenize(text)?);
    let names = collect_names(&mut cursor)?;
    cursor.go_to(0);
    let mut reader = Reader {
        cursor,
        names,
        program: Program::new(Architecture::V1Model),
    };
    reader.program()?;
    Ok(reader.program)
}

/// The text being read, the meanings of names, and the program read so far.
pub(super) struct Reader {
    pub(super) cursor: Cursor,
    pub(super) names: Names,
    pub(super) program: Program,
}

/// Collects the names of all declarations: those that follow a declaration word outside braces.
fn collect_names(cursor: &mut Cursor) -> Read<Names> {
    let mut names = Names::default();
    let mut depth = 0usize;
    loop {
        match cursor.advance() {
            Token::End => return Ok(names),
            Token::Mark("{") => depth += 1,
            Token::Mark("}") => depth = depth.saturating_sub(1),
            Token::Word(word) if depth == 0 && DECLARATIONS.contains(&word.as_str()) => {
                let table = names.declared_by(&word).expect("the word declares something");
                table.push(&cursor.name()?);
                if word == "body" {
                    skip_kind(cursor);
                }
            }
            _ => {}
        }
    }
}

/// Skips a body's index and its kind, which may be the declaration word `action`.
fn skip_kind(cursor: &mut Cursor) {
    if cursor.accept("#") {
        cursor.advance();
    }
    cursor.advance();
}

/// A width, and whether values are signed.
pub(super) struct FixedType {
    pub(super) width: u32,
    pub(super) signed: bool,
}

impl Reader {
    fn program(&mut self) -> Read<()> {
        self.cursor.expect_word("program")?;
        self.program.architecture = self.cursor.keyword()?;
        let mut bodies = Vec::new();
        let mut graph = None;
        while *self.cursor.peek() != Token::End {
            if self.cursor.accept_word("body") {
                bodies.push(self.skip_body()?);
            } else if self.cursor.accept_word("graph") {
                graph = Some(self.skip_body()?);
            } else {
                self.declaration()?;
            }
        }
        // Bodies are read after all actions are known, because parameters are written by name.
        let owners = body_owners(&self.program.actions, bodies.len());
        for (index, start) in bodies.into_iter().enumerate() {
            self.cursor.go_to(start);
            let body = self.body(BodyId(index as u32), owners[index])?;
            self.program.bodies.push(body);
        }
        if let Some(start) = graph {
            self.cursor.go_to(start);
            self.program.graph = Some(self.graph()?);
        }
        Ok(())
    }

    /// Skips a body, and returns its position.
    fn skip_body(&mut self) -> Read<usize> {
        let start = self.cursor.position();
        let mut depth = 0usize;
        loop {
            match self.cursor.peek() {
                Token::End => return self.cursor.expected("`}`"),
                Token::Mark("{") => depth += 1,
                Token::Mark("}") => depth = depth.saturating_sub(1),
                _ => {}
            }
            let closes = matches!(self.cursor.advance(), Token::Mark("}"));
            if closes && depth == 0 {
                return Ok(start);
            }
        }
    }

    fn declaration(&mut self) -> Read<()> {
        let Some(word) = self.cursor.peek_word().map(str::to_owned) else {
            return self.cursor.expected("a declaration");
        };
        let read: fn(&mut Self) -> Read<()> = match word.as_str() {
            "file" => Self::file,
            "error" => Self::error,
            "slot" => Self::slot,
            "header" => Self::header,
            "stage" => Self::stage,
            "intrinsic" => Self::intrinsic,
            "field_list" => Self::field_list,
            "action" => Self::action,
            "table" => Self::table,
            "action_profile" => Self::action_profile,
            "register" => Self::register,
            "counter" => Self::counter,
            "meter" => Self::meter,
            "value_set" => Self::value_set,
            "calculation" => Self::calculation,
            "digest" => Self::digest,
            _ => return self.cursor.expected("a declaration"),
        };
        self.cursor.advance();
        read(self)
    }

    fn file(&mut self) -> Read<()> {
        let file = self.cursor.string()?;
        self.program.files.push(file);
        Ok(())
    }

    fn error(&mut self) -> Read<()> {
        let error = self.cursor.name()?;
        self.program.errors.push(error);
        Ok(())
    }

    fn slot(&mut self) -> Read<()> {
        let name = self.cursor.declared_name(self.program.slots.len())?;
        self.cursor.expect(":")?;
        let FixedType { width, signed } = self.fixed_type()?;
        let kind = self.slot_kind()?;
        self.program.slots.push(Slot {
            name,
            width,
            signed,
            kind,
        });
        Ok(())
    }

    fn slot_kind(&mut self) -> Read<SlotKind> {
        let Some(word) = self.cursor.peek_word().map(str::to_owned) else {
            return self.cursor.expected("a kind of slot");
        };
        let kind = match word.as_str() {
            "next_index" => SlotKind::NextIndex,
            "metadata" => SlotKind::Metadata,
            "intrinsic" => SlotKind::Intrinsic,
            "local" => SlotKind::Local,
            "request" => SlotKind::Request,
            "field" | "valid" | "varbit_length" => {
                self.cursor.advance();
                let header = self.header_reference()?;
                return Ok(match word.as_str() {
                    "field" => SlotKind::Field(header),
                    "valid" => SlotKind::Valid(header),
                    _ => SlotKind::VarbitLength(header),
                });
            }
            _ => return self.cursor.expected("a kind of slot"),
        };
        self.cursor.advance();
        Ok(kind)
    }

    /// `bit<8>` or `int<8>`
    pub(super) fn fixed_type(&mut self) -> Read<FixedType> {
        let signed = self.cursor.accept_word("int");
        if !signed {
            self.cursor.expect_word("bit")?;
        }
        self.cursor.expect("<")?;
        let width = self.cursor.number32()?;
        self.cursor.expect(">")?;
        Ok(FixedType { width, signed })
    }

    fn header(&mut self) -> Read<()> {
        let name = self.cursor.declared_name(self.program.headers.len())?;
        let type_name = self.cursor.name()?;
        self.cursor.expect("{")?;
        self.cursor.expect_word("valid")?;
        let valid = self.slot_reference()?;
        let mut fields = Vec::new();
        while !self.cursor.accept("}") {
            self.cursor.expect_word("field")?;
            let name = self.cursor.name()?;
            self.cursor.expect("=")?;
            let slot = self.slot_reference()?;
            let length = if self.cursor.accept_word("length") {
                Some(self.slot_reference()?)
            } else {
                None
            };
            fields.push(HeaderField { name, slot, length });
        }
        self.program.headers.push(Header {
            name,
            type_name,
            valid,
            fields,
        });
        Ok(())
    }

    fn stage(&mut self) -> Read<()> {
        let role = self.cursor.keyword()?;
        self.cursor.expect("=")?;
        let body = BodyId(self.cursor.reference(&self.names.bodies)?);
        match self.program.stages.insert(role, body) {
            None => Ok(()),
            Some(_) => self.cursor.error("this stage was given before"),
        }
    }

    fn intrinsic(&mut self) -> Read<()> {
        let name = self.cursor.name()?;
        self.cursor.expect("=")?;
        let slot = self.slot_reference()?;
        match self.program.intrinsic.insert(name, slot) {
            None => Ok(()),
            Some(_) => self.cursor.error("this intrinsic field was given before"),
        }
    }

    fn field_list(&mut self) -> Read<()> {
        let index = self.cursor.number32()?;
        let mut slots = Vec::new();
        let names = &self.names.slots;
        self.cursor.braced(|cursor| {
            slots.push(SlotId(cursor.reference(names)?));
            Ok(())
        })?;
        match self.program.field_lists.insert(index, slots) {
            None => Ok(()),
            Some(_) => self.cursor.error("this field list was given before"),
        }
    }

    pub(super) fn slot_reference(&mut self) -> Read<SlotId> {
        Ok(SlotId(self.cursor.reference(&self.names.slots)?))
    }

    pub(super) fn header_reference(&mut self) -> Read<HeaderId> {
        Ok(HeaderId(self.cursor.reference(&self.names.headers)?))
    }
}
