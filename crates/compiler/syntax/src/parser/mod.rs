//! Tokens to syntax tree: a recursive-descent parser that carries on after errors.
//!
//! The grammar is that of the P4_16 specification 1.2.5, appendix "P4 grammar", with what p4c accepts beyond it
//! (a trailing comma in most lists, `a[lo +: width]`, `priority = ...` in entries).
//! There is a file for each area; this one has what they share: the cursor, messages, recovery.
//!
//! **Types and values.** Parsing requires to know which names are types: `a < b > (c)` is a call with a type argument
//! if `b` is a type, and two comparisons if it is not. [`scope::Scopes`] records this as declarations are parsed, which
//! P4 requires to come before their use.
//!
//! **Errors.** A function that cannot go on reports the error and returns [`Reported`]; the innermost loop over
//! a list (statements, fields, declarations, ...) catches it, skips to where the next element probably begins
//! ([`ProgramParser::recover`]), and goes on. A missing `;` at the end of a line is reported and then taken to be
//! there.
//!
//! **Depth.** Recursion goes through [`ProgramParser::nested`], which counts it. Chains such as `a + a + a` make deep
//! trees without recursion, so the height of each expression and type is kept, too. So no tree is deeper than
//! [`NESTING_LIMIT`], and code may walk trees by recursion.

mod addresses;
mod annotations;
mod controls;
mod declarations;
mod expressions;
mod keysets;
mod lookahead;
mod members;
mod misspelt;
mod scope;
mod statements;
mod states;
mod tables;
mod types;

#[cfg(test)]
mod tests;

use crate::ast::{Ident, Program};
use crate::codes::Code;
use crate::codes::source as codes;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::preprocess::{self, Preprocessed, Slip};
use crate::source::Span;
use crate::token::{Symbol, Token, TokenKind};
use scope::Scopes;
use std::collections::HashSet;

/// How deep statements, expressions and types may be nested in each other.
pub const NESTING_LIMIT: usize = 200;

/// An error was reported, and what was to be read could not be read.
struct Reported;

type Parsed<T> = Result<T, Reported>;

/// Reads a program. What could not be read is left out of the tree and reported.
pub fn parse(input: &Preprocessed, diagnostics: &mut Diagnostics) -> Program {
    let mut parser = ProgramParser {
        input,
        next: 0,
        diagnostics,
        scopes: Scopes::default(),
        depth: 0,
        height: 0,
        no_greater: false,
        unclosed_at: None,
        lost: HashSet::new(),
        incomplete: HashSet::new(),
        inside: Inside::Other,
        commas: false,
        reread: None,
    };
    let mut program = parser.program();
    let names = parser.lost.iter().map(|name| input.interner.text(*name).to_string());
    program.lost_names = names.collect();
    program.incomplete = parser.incomplete;
    program
}

struct ProgramParser<'a> {
    input: &'a Preprocessed,
    next: usize,
    diagnostics: &'a mut Diagnostics,
    scopes: Scopes,
    /// How many [`ProgramParser::nested`] are active.
    depth: usize,
    /// The height of the tree of the expression or type that was read last.
    height: usize,
    /// Whether `>` ends the expression (that is, it stands between angle brackets).
    no_greater: bool,
    /// The token before which an unclosed brace was reported, so that its outer braces are not reported too.
    unclosed_at: Option<usize>,
    /// The names in what could not be read: they may be declared there.
    lost: HashSet<Symbol>,
    /// The types with a field that could not be read.
    incomplete: HashSet<String>,
    /// What kind of body is being read.
    inside: Inside,
    /// Whether the elements of the present list are separated by commas, which was reported.
    commas: bool,
    /// The place of a misspelt keyword, and the one that it is read as.
    reread: Option<(usize, TokenKind)>,
}

/// A body that declarations of tables, actions or states cannot be part of: they show that its brace is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Action,
    State,
    Table,
    Other,
}

impl ProgramParser<'_> {
    // ---- The cursor

    fn token_at(&self, distance: usize) -> Token {
        let tokens = &self.input.tokens;
        let place = self.next + distance;
        let token = tokens.get(place).copied().unwrap_or_else(|| tokens[tokens.len() - 1]);
        match self.reread {
            Some((reread, kind)) if reread == place => Token { kind, ..token },
            _ => token,
        }
    }

    fn token(&self) -> Token {
        self.token_at(0)
    }

    fn peek(&self) -> TokenKind {
        self.token().kind
    }

    fn peek_at(&self, distance: usize) -> TokenKind {
        self.token_at(distance).kind
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.peek() == kind
    }

    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::EndOfFile {
            self.next += 1;
        }
        token
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// The span of the token that was read last.
    fn previous_span(&self) -> Span {
        let before = self.next.checked_sub(1);
        before
            .and_then(|index| self.input.tokens.get(index))
            .map_or(self.span(), |token| token.span)
    }

    /// From a beginning to the token that was read last.
    fn since(&self, start: Span) -> Span {
        start.to(self.previous_span())
    }

    fn text(&self, token: Token) -> &str {
        token.spelling(&self.input.interner)
    }

    // ---- Messages

    /// What a token is called in a message.
    fn describe(&self, token: Token) -> String {
        match token.kind {
            TokenKind::EndOfFile | TokenKind::EndOfPragma => token.kind.text().to_string(),
            kind if kind.is_keyword() && kind != TokenKind::Underscore => format!("the keyword `{}`", kind.text()),
            _ => format!("`{}`", shortened(self.text(token))),
        }
    }

    /// Reports, unless the preprocessor has said already why there is nothing to be read here: after a comment without
    /// end the program ends too early. Where a macro that is
    /// written like a declaration was expanded, that is the message.
    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        if let Some(macro_diagnostic) = self.slip_in_macro() {
            self.diagnostics.push(macro_diagnostic);
            return Reported;
        }
        if self.at(TokenKind::EndOfFile) && self.diagnostics.has_open_comment() {
            return Reported;
        }
        let before = self.next.checked_sub(1).map(|index| self.input.tokens[index].kind);
        let unreadable = self.at(TokenKind::Unknown) || before == Some(TokenKind::Unknown);
        let said = unreadable && self.diagnostics.has_errors() || self.is_reported_at(diagnostic.primary.span);
        if !said {
            self.diagnostics.push(diagnostic);
        }
        Reported
    }

    /// The message about a macro whose `=` or `;` stands here or has just been read.
    fn slip_in_macro(&self) -> Option<Diagnostic> {
        let before = self.next.checked_sub(1).map(|index| self.input.tokens[index]);
        let mut origins = [Some(self.token()), before]
            .into_iter()
            .flatten()
            .filter_map(|token| token.origin);
        let (used, slip) = origins.find_map(|origin| {
            let used = self.input.macro_uses.get(origin.0 as usize)?;
            Some((used, used.slip?))
        })?;
        let name = self.input.interner.text(used.name);
        let message = match slip {
            Slip::Assignment => format!("the `=` belongs to what the macro `{name}` stands for"),
            Slip::Semicolon => format!("the `;` belongs to what the macro `{name}` stands for"),
        };
        let diagnostic = Diagnostic::error(codes::MACRO_LIKE_DECLARATION, used.definition, message);
        let diagnostic = diagnostic.secondary(self.span(), "here it does not fit");
        Some(
            diagnostic
                .cause(format!("macro {name}"))
                .hint(format!("write `#define {name} VALUE`, without `=` and `;`")),
        )
    }

    /// Whether the last error is about the same place.
    fn is_reported_at(&self, place: Span) -> bool {
        let last = self.diagnostics.iter().next_back();
        last.is_some_and(|last| {
            let span = last.primary.span;
            last.severity == Severity::Error && (span.file, span.start) == (place.file, place.start)
        })
    }

    /// An error at the current token: what was expected and what stands there.
    fn unexpected(&mut self, code: Code, expected: &str) -> Reported {
        let diagnostic = self.unexpected_diagnostic(code, expected);
        self.report(diagnostic)
    }

    fn unexpected_diagnostic(&self, code: Code, expected: &str) -> Diagnostic {
        let token = self.token();
        let message = format!("expected {expected}, found {}", self.describe(token));
        let diagnostic = Diagnostic::error(code, token.span, message);
        self.with_macro_note(diagnostic, token)
    }

    /// Says which macro a token came from.
    fn with_macro_note(&self, diagnostic: Diagnostic, token: Token) -> Diagnostic {
        preprocess::with_macro_note(diagnostic, token, &self.input.macro_uses, &self.input.interner)
    }

    /// Reads a token that must be there; `place` says where, as in "after the name".
    fn expect(&mut self, kind: TokenKind, place: &str) -> Parsed<Token> {
        if self.at(kind) {
            return Ok(self.bump());
        }
        let expected = format!("`{}` {place}", kind.text());
        Err(self.unexpected(codes::UNEXPECTED_TOKEN, &expected))
    }

    /// Reads the partner of an opening bracket.
    fn expect_close(&mut self, kind: TokenKind, open: Span, what: &str) -> Parsed<Token> {
        if self.at(kind) {
            return Ok(self.bump());
        }
        if kind == TokenKind::RightBrace && self.unclosed_at == Some(self.next) {
            return Err(Reported);
        }
        if self.at(TokenKind::EndOfFile) {
            return Err(self.unclosed_at_end(kind, open, what));
        }
        let code = if kind == TokenKind::RightBrace {
            codes::UNCLOSED_DELIMITER
        } else {
            codes::UNEXPECTED_TOKEN
        };
        let mut diagnostic = self.unexpected_diagnostic(code, &format!("`{}` after {what}", kind.text()));
        let before = self.next.checked_sub(1).map(|index| self.input.tokens[index]);
        match self.text(self.token()) {
            _ if before.is_some_and(|token| self.text(token) == "not") => diagnostic = diagnostic.hint("write `!`"),
            "and" => diagnostic = diagnostic.hint("write `&&`"),
            "or" => diagnostic = diagnostic.hint("write `||`"),
            _ => {}
        }
        self.unclosed_at = (kind == TokenKind::RightBrace).then_some(self.next);
        Err(self.report(diagnostic.secondary(open, "opened here")))
    }

    fn unclosed_at_end(&mut self, kind: TokenKind, open: Span, what: &str) -> Reported {
        let message = format!(
            "this is not closed: expected `{}` after {what}, found the end of the file",
            kind.text()
        );
        self.unclosed_at = (kind == TokenKind::RightBrace).then_some(self.next);
        self.report(Diagnostic::error(codes::UNCLOSED_DELIMITER, open, message))
    }

    /// Reads `;`. When it is missing at the end of a line or before a keyword that begins something else, this is
    /// reported, and it is taken to be there.
    fn expect_semicolon(&mut self, after: &str) -> Parsed<()> {
        if self.eat(TokenKind::Semicolon) {
            return Ok(());
        }
        if self.commas && (self.eat(TokenKind::Comma) || self.at(TokenKind::RightBrace)) {
            return Ok(());
        }
        let token = self.token();
        if token.kind == TokenKind::Comma {
            let message = format!("expected `;` after {after}, found `,`");
            self.report(Diagnostic::error(codes::MISSING_SEMICOLON, token.span, message));
            self.bump();
            self.commas = true;
            return Ok(());
        }
        let place = self.previous_span().after();
        let message = format!("expected `;` after {after}, found {}", self.describe(token));
        let diagnostic = Diagnostic::error(codes::MISSING_SEMICOLON, place, message).label("`;` is missing here");
        let reported = self.report(self.with_macro_note(diagnostic, token));
        use TokenKind::{Bit, Bool, EndOfFile, Int, RightBrace, Varbit};
        let begins_next =
            begins_element(token.kind) || matches!(token.kind, Bit | Bool | Int | Varbit | RightBrace | EndOfFile);
        let ends_here = token.starts_line || begins_next;
        if ends_here { Ok(()) } else { Err(reported) }
    }

    // ---- Depth

    /// Runs a function that may recurse, unless it is nested too deeply already.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        forebay_budget::check();
        if self.depth >= NESTING_LIMIT {
            return Err(self.report_depth());
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Sets the height of a tree from that of its highest part.
    fn grow(&mut self, highest_part: usize) -> Parsed<()> {
        self.height = highest_part + 1;
        if self.height <= NESTING_LIMIT {
            return Ok(());
        }
        self.height = 0;
        Err(self.report_depth())
    }

    /// Reports it once: what follows of a statement that is nested too deeply is, too.
    fn report_depth(&mut self) -> Reported {
        if self.diagnostics.iter().any(|one| one.code == codes::NESTING_TOO_DEEP) {
            return Reported;
        }
        let message = format!("this is nested more than {NESTING_LIMIT} levels deep");
        let diagnostic = Diagnostic::error(codes::NESTING_TOO_DEEP, self.span(), message);
        self.report(diagnostic.hint("split it with variables, actions or functions"))
    }

    // ---- Names

    /// Whether the token at a distance is a name (`nonTypeName`, `TYPE_IDENTIFIER` or `list` in the grammar).
    fn is_name_at(&self, distance: usize) -> bool {
        self.is_plain_name_at(distance) || self.peek_at(distance) == TokenKind::List
    }

    /// The same without `list`.
    fn is_plain_name_at(&self, distance: usize) -> bool {
        use TokenKind::{Actions, Apply, Entries, Identifier, Key, Priority, State, Type};
        matches!(
            self.peek_at(distance),
            Identifier | Actions | Apply | Entries | Key | Priority | State | Type
        )
    }

    /// Whether the token at a distance is the name of a type that is in scope.
    fn is_type_name_at(&self, distance: usize) -> bool {
        let token = self.token_at(distance);
        token.kind == TokenKind::Identifier && self.scopes.is_type(token.text)
    }

    fn ident_of(&self, token: Token) -> Ident {
        Ident {
            name: self.text(token).to_string(),
            span: token.span,
        }
    }

    /// Reads a name; `what` says of what, as in "the name of the table".
    fn name(&mut self, what: &str) -> Parsed<Ident> {
        if self.is_name_at(0) {
            let token = self.bump();
            return Ok(self.ident_of(token));
        }
        let token = self.token();
        if token.kind.is_keyword() && token.kind != TokenKind::Underscore {
            let message = format!("the keyword `{}` cannot be {what}", self.text(token));
            let diagnostic = Diagnostic::error(codes::RESERVED_WORD, token.span, message);
            let diagnostic = diagnostic.cause(format!("the keyword `{}` is a name", self.text(token)));
            return Err(self.report(self.with_macro_note(diagnostic, token)));
        }
        let mut diagnostic = self.unexpected_diagnostic(codes::EXPECTED_NAME, what);
        let before = self.next.checked_sub(1).map(|index| self.input.tokens[index].kind);
        if let (Some(kind @ (TokenKind::Bit | TokenKind::Int)), TokenKind::Integer) = (before, token.kind) {
            let hint = format!(
                "the width stands in angle brackets: `{}<{}>`",
                kind.text(),
                self.text(token)
            );
            diagnostic = diagnostic.hint(hint);
        }
        Err(self.report(diagnostic))
    }

    /// Reads the name of a type that is being declared.
    fn declared_type(&mut self, what: &str) -> Parsed<Ident> {
        let token = self.token();
        let ident = self.name(what)?;
        self.scopes.declare_type(token.text);
        Ok(ident)
    }

    /// Reads the name of a value that is being declared.
    fn declared_value(&mut self, what: &str) -> Parsed<Ident> {
        let token = self.token();
        let ident = self.name(what)?;
        self.scopes.declare_value(token.text);
        Ok(ident)
    }

    fn scoped<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push();
        let result = inner(self);
        self.scopes.pop();
        result
    }

    // ---- Lists and recovery

    /// Reads elements between braces until `}`; errors in one do not keep the others from being read.
    fn braced<T>(&mut self, what: &str, mut element: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let open = self.open_brace(&format!("before {what}"))?;
        let outer_commas = std::mem::replace(&mut self.commas, false);
        let mut list = Vec::new();
        while !self.at_end_of_list() {
            let before = self.next;
            match element(self) {
                Ok(item) => list.push(item),
                Err(Reported) => self.recover(before),
            }
        }
        self.commas = outer_commas;
        // An unclosed brace is no reason to lose what was read.
        let _ = self.expect_close(TokenKind::RightBrace, open, what);
        Ok(list)
    }

    /// Reports `=` before `{`, where there is one.
    fn no_assign_before_brace(&mut self) {
        if self.at(TokenKind::Assign) && self.peek_at(1) == TokenKind::LeftBrace {
            let message = "no `=` stands before `{` here";
            self.report(Diagnostic::error(codes::UNEXPECTED_TOKEN, self.span(), message).hint("leave it out"));
            self.bump();
        }
    }

    /// Reads `{`, and reports `=` before it. One that is missing is reported, and what follows is read as if it were
    /// there if its `}` is.
    fn open_brace(&mut self, place: &str) -> Parsed<Span> {
        self.no_assign_before_brace();
        let here = self.span();
        match self.expect(TokenKind::LeftBrace, place) {
            Ok(brace) => Ok(brace.span),
            Err(Reported) if self.is_brace_missing() => Ok(here),
            Err(Reported) => Err(Reported),
        }
    }

    /// Whether a line begins here, and before the next declaration at top level one `}` too many follows.
    fn is_brace_missing(&self) -> bool {
        if !self.token().starts_line {
            return false;
        }
        let mut open = self.open_braces(0);
        for token in &self.input.tokens[self.next..] {
            match token.kind {
                TokenKind::LeftBrace => open += 1,
                TokenKind::RightBrace if open == 0 => return true,
                TokenKind::RightBrace => open -= 1,
                kind if token.starts_line && begins_top_level(kind) => return false,
                _ => {}
            }
        }
        false
    }

    /// Whether a list in braces ends here: at `}`, at the end, or where only a brace left open explains what follows.
    fn at_end_of_list(&self) -> bool {
        matches!(self.peek(), TokenKind::RightBrace | TokenKind::EndOfFile)
            || self.diagnostics.is_full()
            || self.at_top_level_keyword()
            || self.at_member_outside()
    }

    /// Whether a line begins a declaration that cannot be part of the body that is being read.
    fn at_member_outside(&self) -> bool {
        use TokenKind::{Action, Apply, LeftBrace, State, Table};
        if !self.token().starts_line || self.inside == Inside::Other {
            return false;
        }
        match self.peek() {
            Action | Table => self.is_name_at(1),
            Apply => self.peek_at(1) == LeftBrace,
            State => self.is_name_at(1) && self.peek_at(2) == LeftBrace,
            _ => false,
        }
    }

    /// Reads the body of an action or state.
    fn within<T>(&mut self, inside: Inside, inner: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.inside, inside);
        let result = inner(self);
        self.inside = outer;
        result
    }

    /// Whether a line begins with a keyword that begins declarations at top level only.
    fn at_top_level_keyword(&self) -> bool {
        let token = self.token();
        token.starts_line && begins_top_level(token.kind)
    }

    /// Skips what could not be read, and takes note of the names in it.
    fn recover(&mut self, started_at: usize) {
        self.skip_unreadable(started_at);
        let skipped = &self.input.tokens[started_at..self.next];
        self.lost.extend(
            skipped
                .iter()
                .filter(|token| token.kind.is_word())
                .map(|token| token.text),
        );
    }

    /// Skips past the next `;` or group in braces, or up to `}` or the beginning of a declaration. An `else` that follows
    /// is skipped too, as its `if` was not read.
    fn skip_unreadable(&mut self, started_at: usize) {
        let mut moved = self.next > started_at;
        let mut open = self.open_braces(started_at);
        loop {
            match self.peek() {
                TokenKind::RightBrace if open > 0 => {
                    self.bump();
                    open -= 1;
                }
                TokenKind::EndOfFile | TokenKind::RightBrace => return,
                TokenKind::Semicolon => {
                    self.bump();
                    if !self.at(TokenKind::Else) {
                        return;
                    }
                }
                TokenKind::LeftBrace => {
                    self.skip_group();
                    if !self.at(TokenKind::Else) {
                        self.eat(TokenKind::Semicolon);
                        return;
                    }
                }
                kind if moved && self.token().starts_line && begins_element(kind) => return,
                _ => {
                    self.bump();
                }
            }
            moved = true;
        }
    }

    /// How many braces that were opened since a token are still open: those of an expression that could not be read.
    fn open_braces(&self, started_at: usize) -> usize {
        self.input.tokens[started_at..self.next]
            .iter()
            .fold(0, |open: usize, token| match token.kind {
                TokenKind::LeftBrace => open + 1,
                TokenKind::RightBrace => open.saturating_sub(1),
                _ => open,
            })
    }

    /// Skips a group in braces, with the groups in it.
    fn skip_group(&mut self) {
        let mut depth = 0_usize;
        while !self.at(TokenKind::EndOfFile) {
            match self.bump().kind {
                TokenKind::LeftBrace => depth += 1,
                TokenKind::RightBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Reads `element , element , ...` until the closing token, which is not read. A comma may stand at the end.
    fn comma_list<T>(
        &mut self,
        close: TokenKind,
        what: &str,
        mut element: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut list = Vec::new();
        while !self.at(close) {
            list.push(element(self)?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        if self.at(close) {
            return Ok(list);
        }
        let expected = format!("`,` or `{}` after {what}", close.text());
        Err(self.unexpected(codes::UNEXPECTED_TOKEN, &expected))
    }
}

/// Whether a keyword begins declarations that stand at top level only.
fn begins_top_level(kind: TokenKind) -> bool {
    use TokenKind::{Control, Enum, Extern, Header, HeaderUnion, Package, Parser, Struct, Typedef};
    matches!(
        kind,
        Control | Enum | Extern | Header | HeaderUnion | Package | Parser | Struct | Typedef
    )
}

/// Whether a keyword begins a declaration, property or statement: a good place to go on after an error.
fn begins_element(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(
        kind,
        Action
            | Actions
            | Apply
            | Const
            | Control
            | Enum
            | Entries
            | Extern
            | Header
            | HeaderUnion
            | Key
            | Package
            | Parser
            | State
            | Struct
            | Table
            | Transition
            | Typedef
            | If
            | Switch
            | For
            | Return
            | Exit
            | At
            | ValueSet
    )
}

/// A token's text for a message: not more than a few words of it.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 40;
    let line = text.lines().next().unwrap_or("");
    if line.chars().count() <= LONGEST && line.len() == text.len() {
        return text.to_string();
    }
    format!("{}...", line.chars().take(LONGEST).collect::<String>())
}
