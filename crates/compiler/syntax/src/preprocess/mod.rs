//! The preprocessor: includes, macros and conditional text, as in C (P4_16 specification, "Preprocessing").
//!
//! It works on tokens, not on text. The state is a stack of files ([`Frame`]) and, on top of it, a stack of token
//! lists that macros expanded to ([`Pending`]); [`Preprocessor::read`] takes the next token from the top.
//!
//! ```text
//!  read ◄─ pending: tokens of macro uses being rescanned   (top first)
//!       ◄─ frames:  files being read, innermost include on top; directives are carried out here
//! ```
//!
//! A macro is not expanded again while tokens of its own expansion are pending, and a name that was met in that
//! time is *painted* and never expanded: this is what makes expansion end. That output stays bounded, too, is the
//! budget's work ([`MAX_TOKENS`], [`MAX_READ`]): each token that is read or made is paid for, and when nothing is left
//! the input simply ends, with an error.
//!
//! A token from a macro's body carries the span of the macro's use, and a [`MacroUse`] that tells the
//! parser which macro that was; a token from a macro's argument keeps the span of the argument.

mod condition;
mod directives;
mod expand;
mod strings;

use crate::codes::source as codes;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lexer::{tokenize, tokenize_from};
use crate::older::program_of_p4_14;
use crate::source::{FileId, SourceMap, SourceSearch, Span};
use crate::token::{Interner, MacroUse, Symbol, Token, TokenKind};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// How many tokens a program may have, and how many macros may make: these are kept in memory.
pub const MAX_TOKENS: usize = 2_000_000;
/// How many tokens may be read of files, directives and what conditions leave out included: libraries of macros have
/// some millions, of which a program sees few.
pub const MAX_READ: usize = 32_000_000;
/// How deep files may include each other.
pub const MAX_INCLUDE_DEPTH: usize = 64;
/// How deep macro calls may stand in arguments of macro calls, and parentheses in conditions.
pub const MAX_MACRO_NESTING: usize = 100;
/// The largest source file, in bytes.
pub const MAX_FILE_SIZE: usize = 64 << 20;

/// Which macro a token came from.
#[derive(Clone, Copy, Debug)]
pub struct MacroUseInfo {
    /// The macro's name.
    pub name: Symbol,
    /// Where the macro is defined.
    pub definition: Span,
    /// What of its body is probably left over from a declaration.
    pub slip: Option<Slip>,
}

/// Punctuation of a declaration in a `#define`, which C programmers write by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slip {
    /// A definition with `=`, as in `#define N = 5` or `#define N = 5;`.
    Assignment,
    /// `#define N 5;`
    Semicolon,
}

impl Slip {
    /// What is wrong with the body of an object-like macro.
    fn of(definition: &Macro) -> Option<Slip> {
        let [first, .., last] = &definition.body[..] else {
            return None;
        };
        match (first.kind, last.kind) {
            _ if definition.parameters.is_some() => None,
            (TokenKind::Assign, _) => Some(Slip::Assignment),
            (_, TokenKind::Semicolon) if definition.body.len() == 2 => Some(Slip::Semicolon),
            _ => None,
        }
    }
}

/// Says in a message about a token which macro it came from.
pub fn with_macro_note(
    diagnostic: Diagnostic,
    token: Token,
    macro_uses: &[MacroUseInfo],
    interner: &Interner,
) -> Diagnostic {
    let used = token.origin.and_then(|origin| macro_uses.get(origin.0 as usize));
    let Some(used) = used else { return diagnostic };
    let name = interner.text(used.name);
    diagnostic.secondary(used.definition, format!("in the expansion of the macro `{name}`"))
}

/// What the parser gets.
pub struct Preprocessed {
    /// The program's tokens; the last is [`TokenKind::EndOfFile`].
    pub tokens: Vec<Token>,
    /// The texts of the tokens.
    pub interner: Interner,
    /// What [`Token::origin`] points into.
    pub macro_uses: Vec<MacroUseInfo>,
}

/// Reads the program in the file `main` of `sources`, and all that it includes.
///
/// `defines` are macros as the `-D` option takes them: `NAME` or `NAME=VALUE`.
pub fn preprocess(
    main: FileId,
    defines: &[String],
    search: &SourceSearch,
    sources: &mut SourceMap,
    diagnostics: &mut Diagnostics,
) -> Preprocessed {
    let mut preprocessor = Preprocessor::new(search, sources, diagnostics);
    preprocessor.open(main);
    preprocessor.define_options(defines);
    let tokens = preprocessor.run();
    Preprocessed {
        tokens,
        interner: preprocessor.interner,
        macro_uses: preprocessor.macro_uses,
    }
}

/// A file being read.
struct Frame {
    file: FileId,
    tokens: Rc<[Token]>,
    next: usize,
    conditionals: Vec<Conditional>,
    /// While the tokens are those inside a string: the offset of its closing quotation mark.
    window: Option<u32>,
}

/// An `#if` whose `#endif` has not been read yet.
struct Conditional {
    span: Span,
    /// Whether one of its branches has been chosen.
    taken: bool,
    /// Whether its `#else` has been read.
    in_else: bool,
}

/// Tokens that are read before the file goes on.
struct Pending {
    tokens: Vec<Token>,
    next: usize,
    /// The macro whose expansion they are; it is disabled until they have been read.
    expansion_of: Option<Symbol>,
}

/// A macro's definition.
#[derive(Debug, PartialEq)]
struct Macro {
    name: Symbol,
    definition: Span,
    /// None for an object-like macro.
    parameters: Option<Vec<Symbol>>,
    /// Whether the last parameter takes any number of arguments.
    variadic: bool,
    body: Vec<Token>,
}

struct Preprocessor<'a> {
    search: &'a SourceSearch<'a>,
    sources: &'a mut SourceMap,
    diagnostics: &'a mut Diagnostics,
    interner: Interner,
    files: HashMap<FileId, Rc<[Token]>>,
    frames: Vec<Frame>,
    pending: Vec<Pending>,
    /// Whether only pending tokens are read: the arguments of a macro, or a directive's line.
    isolated: bool,
    nesting: usize,
    macros: HashMap<Symbol, Rc<Macro>>,
    disabled: HashMap<Symbol, usize>,
    macro_uses: Vec<MacroUseInfo>,
    /// What may still be made of [`MAX_TOKENS`].
    budget: usize,
    /// What may still be read of [`MAX_READ`].
    readable: usize,
    /// Files with `#pragma once`, which are not read again.
    once: HashSet<FileId>,
    /// Whether a file that is included was not found.
    missing_file: bool,
    /// The end of the last line that was ignored because it is no directive.
    ignored: Option<Span>,
    /// Words with letters that P4 does not allow, each of which is reported once.
    foreign_words: HashSet<Symbol>,
    last_span: Span,
    /// Where unreadable characters were reported, as file and end.
    unreadable: HashSet<(FileId, u32)>,
}

impl<'a> Preprocessor<'a> {
    fn new(search: &'a SourceSearch, sources: &'a mut SourceMap, diagnostics: &'a mut Diagnostics) -> Self {
        Preprocessor {
            search,
            sources,
            diagnostics,
            interner: Interner::default(),
            files: HashMap::new(),
            frames: Vec::new(),
            pending: Vec::new(),
            isolated: false,
            nesting: 0,
            macros: HashMap::new(),
            disabled: HashMap::new(),
            macro_uses: Vec::new(),
            budget: MAX_TOKENS,
            readable: MAX_READ,
            once: HashSet::new(),
            missing_file: false,
            ignored: None,
            foreign_words: HashSet::new(),
            last_span: Span::NONE,
            unreadable: HashSet::new(),
        }
    }

    /// Reads everything and keeps what the parser wants.
    fn run(&mut self) -> Vec<Token> {
        let mut out = Vec::new();
        let mut in_pragma = false;
        let mut annotation = AnnotationTracker::default();
        loop {
            let token = self.next_expanded();
            let free_text = annotation.follow(token.kind) || in_pragma;
            if in_pragma && matches!(token.kind, TokenKind::Newline | TokenKind::EndOfFile) {
                out.push(Token {
                    kind: TokenKind::EndOfPragma,
                    ..token
                });
                in_pragma = false;
            }
            match token.kind {
                TokenKind::Newline => {}
                TokenKind::EndOfFile => {
                    if self.has_given_up() && program_of_p4_14(&out, &self.interner).is_none() {
                        out.clear();
                    }
                    out.push(token);
                    return out;
                }
                TokenKind::Unknown if free_text => out.push(token),
                kind if is_unreadable(kind) => {
                    self.report_unreadable(token);
                    self.stand_in(token, &mut out);
                }
                kind => {
                    in_pragma |= kind == TokenKind::Pragma;
                    out.push(token);
                    if out.len() > MAX_TOKENS {
                        self.bail_out(format!(
                            "the program has more than {MAX_TOKENS} tokens after macro expansion"
                        ));
                    }
                }
            }
        }
    }

    /// Whether what was read is no basis for further messages: a file is missing, or there are too many tokens.
    fn has_given_up(&self) -> bool {
        self.missing_file || self.budget == 0
    }

    /// Puts in the place of a token that was reported what lets the parser go on without a message of its own.
    fn stand_in(&mut self, token: Token, out: &mut Vec<Token>) {
        let text = self.interner.text(token.text);
        match token.kind {
            TokenKind::Unknown if text.starts_with(|first: char| first.is_alphabetic() || first == '_') => {
                out.push(Token {
                    kind: TokenKind::Identifier,
                    ..token
                });
            }
            TokenKind::UnterminatedString => {
                out.push(Token {
                    kind: TokenKind::StringLiteral,
                    ..token
                });
                out.push(Token {
                    kind: TokenKind::Unknown,
                    ..token
                });
            }
            TokenKind::Unknown => out.push(token),
            _ => {}
        }
    }

    /// A token for what a wrong use of a macro would have become.
    fn nothing_at(&mut self, place: Token) -> Token {
        let text = self.interner.intern("");
        Token {
            kind: TokenKind::Unknown,
            text,
            ..place
        }
    }

    /// Starts to read a file.
    fn open(&mut self, file: FileId) {
        let Some(source) = self.sources.file(file) else { return };
        let text = source.text.clone();
        if text.len() > MAX_FILE_SIZE {
            let message = format!("the file has {} bytes; at most {MAX_FILE_SIZE} are read", text.len());
            return self.diagnostics.push(Diagnostic::error(
                codes::SOURCE_TOO_LARGE,
                Span::new(file, 0, 0),
                message,
            ));
        }
        let interner = &mut self.interner;
        let tokens = self
            .files
            .entry(file)
            .or_insert_with(|| tokenize(file, &text, interner).into());
        self.frames.push(Frame {
            file,
            tokens: tokens.clone(),
            next: 0,
            conditionals: Vec::new(),
            window: None,
        });
    }

    /// Defines the macros of `-D` options, by reading a file of `#define` lines.
    fn define_options(&mut self, defines: &[String]) {
        let mut text = String::from("#define __TARGET_BMV2__ 1\n");
        for define in defines {
            let (name, value) = define.split_once('=').unwrap_or((define, "1"));
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if name.is_empty() || !name.bytes().all(is_name) || name.as_bytes()[0].is_ascii_digit() {
                let message = format!("`{name}` cannot be the name of a macro");
                self.diagnostics
                    .push(Diagnostic::error(codes::INVALID_DEFINE_OPTION, Span::NONE, message));
            } else {
                text.push_str(&format!("#define {name} {}\n", value.replace(['\n', '\r'], " ")));
            }
        }
        let file = self.sources.add("<command line>", text, None);
        self.open(file);
    }

    /// Pays for tokens that are made; false, and an end of all input, when there is nothing left to pay with.
    fn pay(&mut self, tokens: usize) -> bool {
        forebay_budget::check();
        if self.budget >= tokens {
            self.budget -= tokens;
            return true;
        }
        self.bail_out(format!(
            "the program has more than {MAX_TOKENS} tokens after macro expansion"
        ));
        false
    }

    /// The same for tokens that are read.
    fn pay_reading(&mut self, tokens: usize) -> bool {
        if self.readable >= tokens {
            self.readable -= tokens;
            return true;
        }
        self.bail_out(format!(
            "the program and what it includes have more than {MAX_READ} tokens"
        ));
        false
    }

    fn bail_out(&mut self, message: String) {
        if self.budget > 0 || !self.frames.is_empty() {
            let diagnostic = Diagnostic::error(codes::TOO_MANY_TOKENS, self.last_span, message);
            self.diagnostics
                .push(diagnostic.hint("look for macros or includes that double at each step"));
        }
        self.budget = 0;
        self.readable = 0;
        self.frames.clear();
        self.pending.clear();
    }

    /// The next token, macros not yet expanded.
    fn read(&mut self) -> Token {
        while let Some(pending) = self.pending.last_mut() {
            if let Some(token) = pending.tokens.get(pending.next) {
                pending.next += 1;
                return *token;
            }
            let finished = self.pending.pop();
            if let Some(name) = finished.and_then(|pending| pending.expansion_of) {
                self.enable(name);
            }
        }
        if self.isolated {
            self.end_of_file()
        } else {
            self.read_file()
        }
    }

    fn enable(&mut self, name: Symbol) {
        if let Some(count) = self.disabled.get_mut(&name) {
            *count -= 1;
            if *count == 0 {
                self.disabled.remove(&name);
            }
        }
    }

    fn end_of_file(&mut self) -> Token {
        Token {
            kind: TokenKind::EndOfFile,
            text: self.interner.intern(""),
            span: self.last_span.after(),
            origin: None,
            spaced: true,
            starts_line: true,
            painted: false,
        }
    }

    /// The next token of the innermost file; directives are carried out on the way.
    fn read_file(&mut self) -> Token {
        loop {
            let Some(token) = self.advance() else {
                return self.end_of_file();
            };
            match token.kind {
                TokenKind::Hash if token.starts_line => self.directive(token),
                TokenKind::HashHash if token.starts_line => self.ignored_line(&token),
                TokenKind::StringLiteral if self.has_lines(&token) => return self.read_lines(token),
                TokenKind::EndOfFile => {
                    self.close_frame();
                    if !self.frames.is_empty() {
                        return Token {
                            kind: TokenKind::Newline,
                            ..token
                        };
                    }
                }
                _ => return token,
            }
        }
    }

    /// Reads the innermost file anew from the end of the line on which a string literal begins.
    fn resume_after_line_of(&mut self, string: Token) {
        let Some(frame) = self.frames.last_mut() else { return };
        let Some(source) = self.sources.file(frame.file) else {
            return;
        };
        let begin = string.span.start as usize;
        let line_end = source.text[begin..]
            .find('\n')
            .map_or(source.text.len(), |length| begin + length);
        let tokens = tokenize_from(frame.file, &source.text, line_end, &mut self.interner);
        let count = tokens.len();
        (frame.tokens, frame.next) = (tokens.into(), 0);
        self.pay_reading(count);
    }

    /// The next token of the innermost file as it stands there.
    fn advance(&mut self) -> Option<Token> {
        let frame = self.frames.last_mut()?;
        let token = *frame.tokens.get(frame.next).or(frame.tokens.last())?;
        frame.next += 1;
        self.last_span = token.span;
        if token.kind == TokenKind::UnterminatedComment {
            self.report_unreadable(token);
        }
        self.pay_reading(1).then_some(token)
    }

    /// Ends a file: its conditionals must be closed.
    fn close_frame(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        if self.diagnostics.has_open_comment() {
            return;
        }
        for conditional in frame.conditionals {
            let message = "this condition has no `#endif`";
            let diagnostic = Diagnostic::error(codes::UNBALANCED_CONDITIONAL, conditional.span, message);
            self.diagnostics
                .push(diagnostic.hint("add `#endif` before the end of the file"));
        }
    }

    /// Says what is wrong with a token, once for each place, however often a macro repeats it, and once for characters
    /// that follow one another.
    fn report_unreadable(&mut self, token: Token) {
        let Span { file, start, end } = token.span;
        let goes_on = token.kind == TokenKind::Unknown && self.unreadable.contains(&(file, start));
        if !self.unreadable.insert((file, end)) || goes_on {
            return;
        }
        let text = self.interner.text(token.text);
        let diagnostic = match token.kind {
            TokenKind::Unknown if text.is_empty() => return,
            TokenKind::Unknown if text == "*/" => {
                Diagnostic::error(codes::NO_COMMENT, token.span, "this `*/` ends no comment")
                    .hint("the first `*/` after a `/*` ends the comment: comments do not nest")
            }
            TokenKind::Unknown if text.starts_with(|first: char| first.is_alphabetic() || first == '_') => {
                let message = format!("the name `{}` has letters that P4 does not allow", text.escape_debug());
                if !self.foreign_words.insert(token.text) {
                    return;
                }
                Diagnostic::error(codes::UNKNOWN_CHARACTER, token.span, message)
                    .hint("names consist of the letters A to Z and a to z, digits and `_`")
            }
            TokenKind::UnterminatedComment => {
                let start = Span {
                    end: token.span.start + 2,
                    ..token.span
                };
                Diagnostic::error(codes::UNTERMINATED_COMMENT, start, "this comment has no end")
                    .hint("close it with `*/`")
            }
            TokenKind::UnterminatedString => {
                Diagnostic::error(codes::UNTERMINATED_STRING, token.span, "this string has no end")
                    .hint("close it with `\"`")
            }
            _ if text.chars().all(char::is_whitespace) => {
                let message = format!(
                    "the character `{}` looks like a blank, and is none",
                    text.escape_debug()
                );
                Diagnostic::error(codes::UNKNOWN_CHARACTER, token.span, message)
                    .hint("replace it by a space everywhere: web pages and word processors have it in their text")
                    .cause(format!("blank {}", text.escape_debug()))
            }
            _ => {
                let message = format!("{} has no meaning in P4", called(text));
                let diagnostic = Diagnostic::error(codes::UNKNOWN_CHARACTER, token.span, message);
                match ascii_lookalike(text) {
                    Some(ascii) => diagnostic.hint(format!("did you mean `{ascii}`?")),
                    None => diagnostic,
                }
            }
        };
        let diagnostic = with_macro_note(diagnostic, token, &self.macro_uses, &self.interner);
        self.diagnostics.push(diagnostic);
    }

    /// The name, definition and use of the macro a token came from are known by this number.
    fn add_macro_use(&mut self, used: &Macro) -> MacroUse {
        self.macro_uses.push(MacroUseInfo {
            name: used.name,
            definition: used.definition,
            slip: Slip::of(used),
        });
        MacroUse(self.macro_uses.len() as u32 - 1)
    }
}

/// Finds the bodies of annotations `@name(...)`, which may contain anything.
#[derive(Default)]
struct AnnotationTracker {
    /// How much of `@`, name, `(` was seen before the current token.
    seen: u8,
    depth: usize,
}

impl AnnotationTracker {
    /// Takes note of the next token; true if it stands in the body of an annotation.
    fn follow(&mut self, kind: TokenKind) -> bool {
        match kind {
            TokenKind::LeftParen if self.depth > 0 || self.seen == 2 => self.depth += 1,
            TokenKind::RightParen => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.seen = match (self.seen, kind) {
            (seen, TokenKind::Newline) => seen,
            (_, TokenKind::At) => 1,
            (1, kind) if kind.is_word() => 2,
            _ => 0,
        };
        self.depth > 0
    }
}

fn is_unreadable(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Unknown | TokenKind::UnterminatedString | TokenKind::UnterminatedComment
    )
}

/// What a character is called in a message, which encloses others in backticks.
fn called(character: &str) -> String {
    match character {
        "`" => "a backtick".to_string(),
        "'" => "the character `'`".to_string(),
        _ => format!("the character `{}`", character.escape_debug()),
    }
}

/// The ASCII character that a typographic one usually stands for.
fn ascii_lookalike(text: &str) -> Option<&'static str> {
    match text {
        "\u{201c}" | "\u{201d}" | "\u{2018}" | "\u{2019}" | "'" => Some("\""),
        "\u{2013}" | "\u{2014}" | "\u{2212}" => Some("-"),
        "\u{ff1b}" | "\u{37e}" => Some(";"),
        "\u{2026}" => Some("..."),
        "\u{2264}" => Some("<="),
        "\u{2265}" => Some(">="),
        "\u{2260}" => Some("!="),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
