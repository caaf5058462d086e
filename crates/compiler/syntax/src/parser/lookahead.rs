//! Decisions that need more than one token: is this a type, a cast, a declaration?
//!
//! Nothing here moves the cursor. Positions are distances from the current token.

use super::ProgramParser;
use crate::token::TokenKind;

/// The longest list of type arguments that is looked through, in tokens.
const LONGEST_TYPE_ARGUMENTS: usize = 2_000;

impl ProgramParser<'_> {
    /// Whether a type that needs no declaration begins at a distance.
    fn begins_base_type(&self, distance: usize) -> bool {
        use TokenKind::*;
        match self.peek_at(distance) {
            Bit | Bool | Int | MatchKind | String | Tuple | Varbit => true,
            Error => self.peek_at(distance + 1) != Dot,
            List => self.peek_at(distance + 1) == LeftAngle,
            _ => false,
        }
    }

    /// Whether a type certainly begins at a distance.
    pub(super) fn begins_type(&self, distance: usize) -> bool {
        self.begins_base_type(distance) || self.is_type_name_at(distance) || self.is_absolute_type_at(distance)
    }

    /// Whether `.T` with a type T of the top level stands at a distance.
    pub(super) fn is_absolute_type_at(&self, distance: usize) -> bool {
        let name = self.token_at(distance + 1);
        self.peek_at(distance) == TokenKind::Dot
            && name.kind == TokenKind::Identifier
            && self.scopes.is_global_type(name.text)
    }

    /// The distance after the type that begins at a distance, if it can be one at all.
    pub(super) fn after_type(&self, distance: usize) -> Option<usize> {
        let mut end = distance + usize::from(self.peek_at(distance) == TokenKind::Dot);
        end += 1;
        if self.peek_at(end) == TokenKind::LeftAngle {
            end = self.after_angles(end)?;
        }
        while self.peek_at(end) == TokenKind::LeftBracket {
            end = self.after_group(end)?;
        }
        Some(end)
    }

    /// The distance after the `>` that closes the `<` at a distance; none if what is between cannot be type arguments.
    pub(super) fn after_angles(&self, distance: usize) -> Option<usize> {
        use TokenKind::*;
        let mut depth = 0_usize;
        let mut end = distance;
        while end < distance + LONGEST_TYPE_ARGUMENTS {
            match self.peek_at(end) {
                LeftAngle => depth += 1,
                RightAngle => depth -= 1,
                LeftParen | LeftBracket => {
                    end = self.after_group(end)?;
                    continue;
                }
                Semicolon | LeftBrace | RightBrace | RightParen | RightBracket | EndOfFile | Assign | AndAnd | OrOr => {
                    return None;
                }
                _ => {}
            }
            end += 1;
            if depth == 0 {
                return Some(end);
            }
        }
        None
    }

    /// The distance after the bracket that closes the one at a distance.
    pub(super) fn after_group(&self, distance: usize) -> Option<usize> {
        use TokenKind::*;
        let mut depth = 0_usize;
        let mut end = distance;
        loop {
            match self.peek_at(end) {
                LeftParen | LeftBracket | LeftBrace => depth += 1,
                RightParen | RightBracket | RightBrace => depth = depth.checked_sub(1)?,
                EndOfFile => return None,
                _ => {}
            }
            end += 1;
            if depth == 0 {
                return Some(end);
            }
        }
    }

    /// Whether the `(` here begins a cast `(T) e`.
    pub(super) fn at_cast(&self) -> bool {
        if self.begins_base_type(1) {
            return true;
        }
        let is_type = self.is_type_name_at(1) || self.is_absolute_type_at(1);
        is_type
            && self
                .after_type(1)
                .is_some_and(|end| self.peek_at(end) == TokenKind::RightParen)
    }

    /// Whether the `<` here begins the type arguments of a call. In a statement every name may be a type argument; in
    /// an expression the first one must be known to be a type.
    pub(super) fn at_type_arguments(&self, in_statement: bool) -> bool {
        let first = self.begins_type(1)
            || matches!(self.peek_at(1), TokenKind::Underscore | TokenKind::Void)
            || (in_statement && self.is_name_at(1));
        first
            && self
                .after_angles(0)
                .is_some_and(|end| self.peek_at(end) == TokenKind::LeftParen)
    }

    /// Whether a statement here is a declaration of a variable or an instance.
    pub(super) fn at_local_declaration(&self) -> bool {
        if self.begins_base_type(0) {
            return true;
        }
        if self.is_type_name_at(0) || self.is_absolute_type_at(0) {
            let Some(end) = self.after_type(0) else { return true };
            return match self.peek_at(end) {
                TokenKind::Dot => false,
                TokenKind::LeftParen => self
                    .after_group(end)
                    .is_none_or(|end| self.peek_at(end) != TokenKind::Dot),
                _ => true,
            };
        }
        // A name that is no type, then another name: the type has not been declared.
        self.peek() == TokenKind::Identifier
            && match self.peek_at(1) {
                TokenKind::LeftAngle => self.after_angles(1).is_some_and(|end| self.is_name_at(end)),
                _ => self.is_name_at(1),
            }
    }

    /// Whether an instance of a type that is not declared begins here: `name(...) name` or `name<...>(...) name`.
    pub(super) fn at_unknown_instance(&self) -> bool {
        let after_type = match self.peek_at(1) {
            TokenKind::LeftAngle => self.after_angles(1),
            _ => Some(1),
        };
        let open = after_type.filter(|end| self.peek_at(*end) == TokenKind::LeftParen);
        let end = open.and_then(|open| self.after_group(open));
        self.peek() == TokenKind::Identifier && end.is_some_and(|end| self.is_name_at(end))
    }

    /// Whether the `(` here encloses a tuple of keysets rather than an expression.
    pub(super) fn at_keyset_tuple(&self) -> bool {
        use TokenKind::*;
        if self.at_cast() {
            return false;
        }
        let mut end = 1;
        loop {
            match self.peek_at(end) {
                Comma | Mask | Range | Underscore | Default => return true,
                RightParen | EndOfFile | Semicolon => return false,
                LeftParen | LeftBracket | LeftBrace => match self.after_group(end) {
                    Some(after) => end = after,
                    None => return false,
                },
                _ => end += 1,
            }
        }
    }
}
