//! Directives: the lines that begin with `#`.

use super::{Conditional, MAX_INCLUDE_DEPTH, Macro, Preprocessor};
use crate::codes::Code;
use crate::codes::source as codes;
use crate::diagnostic::{Diagnostic, Severity, closest_name};
use crate::lexer::unescape;
use crate::source::{FoundSource, Span, library_file};
use crate::token::{Symbol, Token, TokenKind};
use std::rc::Rc;

const DIRECTIVES: [&str; 16] = [
    "include", "define", "undef", "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif", "error",
    "warning", "line", "pragma", "ident",
];

/// Files that declare architectures of other targets.
const OTHER_ARCHITECTURES: [&str; 13] = [
    "tna.p4",
    "t2na.p4",
    "t3na.p4",
    "tofino.p4",
    "tofino2.p4",
    "ebpf_model.p4",
    "ubpf_model.p4",
    "xdp_model.p4",
    "xsa.p4",
    "mtpsa.p4",
    "mtpsa_user.p4",
    "softnpu.p4",
    "sume_switch.p4",
];

/// What to do where the architecture of another target is included.
fn about_architecture(path: &str) -> String {
    let generation = match path {
        "tna.p4" => 1,
        "t2na.p4" => 2,
        _ => {
            return "this architecture is not built in: v1model.p4, psa.p4 and pna.p4 are; \
                    to check against a file of your own, name its folder with -I"
                .to_string();
        }
    };
    format!(
        "programs for Tofino are checked, not executed: `forebay check -I DIR -D __TARGET_TOFINO__={generation}`, where DIR \
         has Tofino's include files, as p4c does in backends/tofino/bf-p4c/p4include; docs/architectures.md says what \
         their externs are in v1model"
    )
}

/// What follows a branch of a conditional.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Continuation {
    /// `#elif`, `#elifdef` or `#elifndef`.
    Elif,
    Else,
    Endif,
}

impl Preprocessor<'_> {
    /// Carries out the directive whose `#` was just read.
    pub(super) fn directive(&mut self, hash: Token) {
        let line = self.rest_of_line();
        let Some((name, rest)) = line.split_first() else { return };
        let span = hash.span.to(name.span);
        let text = self.interner.text(name.text);
        match text {
            "include" => self.include(span, rest),
            "define" => self.define(span, rest),
            "undef" => self.undef(span, rest),
            "if" => {
                let taken = self.condition(span, rest);
                self.begin_conditional(span, taken);
            }
            "ifdef" | "ifndef" => {
                let wanted = text == "ifdef";
                let taken = self.condition_defined(span, rest) == Some(wanted);
                self.begin_conditional(span, taken);
            }
            "elif" | "elifdef" | "elifndef" => self.continue_conditional(span, Continuation::Elif, rest),
            "else" => self.continue_conditional(span, Continuation::Else, rest),
            "endif" => self.continue_conditional(span, Continuation::Endif, rest),
            "error" => self.message(Severity::Error, codes::ERROR_DIRECTIVE, span, rest),
            "warning" => self.message(Severity::Warning, codes::WARNING_DIRECTIVE, span, rest),
            "line" => self.line_directive(span, rest),
            "pragma" => self.pragma(rest),
            "ident" => {}
            _ if name.kind == TokenKind::Integer => self.line_directive(span, &line),
            _ => self.unknown_directive(span, &line),
        }
    }

    /// A line that begins with `##`, as banners of comments in other languages do.
    pub(super) fn ignored_line(&mut self, hashes: &Token) {
        let line = self.rest_of_line();
        let message = "no preprocessor directive begins with `##`, so this line is ignored";
        self.ignore(hashes.span, &line, message);
    }

    /// A line that begins with `#` and is no directive. p4c takes it for a comment; what looks like a misspelt
    /// directive is an error, unless the comment goes on there.
    fn unknown_directive(&mut self, span: Span, line: &[Token]) {
        let Some(name) = line.first() else { return };
        let spelling = name.spelling(&self.interner);
        let message = format!("`#{spelling}` is not a preprocessor directive");
        let goes_on = name.spaced && self.follows_ignored(span);
        if let Some(directive) = closest_name(spelling, DIRECTIVES).filter(|_| !goes_on) {
            let error = Diagnostic::error(codes::UNKNOWN_DIRECTIVE, span, message);
            let hint = format!("did you mean `#{directive}`?");
            return self.diagnostics.push(error.hint(hint));
        }
        self.ignore(span, line, &format!("{message}, so this line is ignored"));
    }

    /// Ignores a line. Of lines one below the other, as comments of other languages have, the first is reported.
    fn ignore(&mut self, begin: Span, line: &[Token], message: &str) {
        if !self.follows_ignored(begin) {
            let warning = Diagnostic::warning(codes::IGNORED_DIRECTIVE, begin, message);
            self.diagnostics.push(warning.hint("write comments with `//`"));
        }
        self.ignored = Some(line.last().map_or(begin, |token| token.span));
    }

    /// Whether nothing stands between a line and the one that was ignored last.
    fn follows_ignored(&self, begin: Span) -> bool {
        let Some(before) = self
            .ignored
            .filter(|before| before.file == begin.file && before.end <= begin.start)
        else {
            return false;
        };
        let between = Span {
            file: begin.file,
            start: before.end,
            end: begin.start,
        };
        let text = self.sources.text(between);
        text.bytes().all(|byte| byte.is_ascii_whitespace() || byte == b'#')
    }

    /// The tokens up to the end of the line, which is read too.
    pub(super) fn rest_of_line(&mut self) -> Vec<Token> {
        let mut line = Vec::new();
        while let Some(token) = self.peek_file() {
            if token.kind == TokenKind::EndOfFile {
                break;
            }
            self.advance();
            if token.kind == TokenKind::Newline {
                break;
            }
            line.push(token);
        }
        line
    }

    pub(super) fn peek_file(&self) -> Option<Token> {
        let frame = self.frames.last()?;
        frame.tokens.get(frame.next).copied()
    }

    fn malformed(&mut self, span: Span, message: &str) {
        self.diagnostics
            .push(Diagnostic::error(codes::MALFORMED_DIRECTIVE, span, message));
    }

    fn warn_extra(&mut self, rest: &[Token]) {
        if let (Some(first), Some(last)) = (rest.first(), rest.last()) {
            let span = first.span.to(last.span);
            self.diagnostics.push(Diagnostic::warning(
                codes::EXTRA_TOKENS,
                span,
                "this text has no effect",
            ));
        }
    }

    /// `#pragma once`: the file is not read again. Other pragmas are those of C compilers.
    fn pragma(&mut self, rest: &[Token]) {
        let is_once = rest.first().is_some_and(|word| word.spelling(&self.interner) == "once");
        if let Some(frame) = self.frames.last().filter(|_| is_once) {
            self.once.insert(frame.file);
        }
    }

    fn message(&mut self, severity: Severity, code: Code, span: Span, rest: &[Token]) {
        let end = rest.last().map_or(span, |token| token.span);
        let text = rest.first().map_or("", |first| self.sources.text(first.span.to(end)));
        let text = if text.is_empty() {
            "no message is given".to_string()
        } else {
            unescape(text.trim())
        };
        self.diagnostics
            .push(Diagnostic::new(severity, code, span.to(end), text));
    }

    // ---- #include

    fn include(&mut self, span: Span, rest: &[Token]) {
        let expanded;
        let rest = match rest.first() {
            Some(first) if !matches!(first.kind, TokenKind::StringLiteral | TokenKind::LeftAngle) => {
                expanded = self.expand_list(rest.to_vec());
                &expanded
            }
            _ => rest,
        };
        let Some((path, system)) = self.include_path(rest) else {
            return self.malformed_include(span, rest);
        };
        let end = rest.last().map_or(span, |token| token.span);
        self.include_file(span.to(end), &path, system);
    }

    /// Reports an `#include` without a file in quotes or angle brackets. What a known file would declare is then not
    /// reported.
    fn malformed_include(&mut self, span: Span, rest: &[Token]) {
        let message = "`#include` needs \"file\" or <file>";
        let diagnostic = Diagnostic::error(codes::MALFORMED_DIRECTIVE, span, message);
        let written = match (rest.first(), rest.last()) {
            (Some(first), Some(last)) => self.sources.text(first.span.to(last.span)),
            _ => "",
        };
        let name = written.trim_matches(|end: char| !end.is_ascii_alphanumeric());
        let diagnostic = if name.ends_with(".p4") {
            diagnostic
                .hint(format!("write `#include <{name}>`"))
                .cause(format!("`#include <{name}>` declares it"))
        } else {
            diagnostic
        };
        self.diagnostics.push(diagnostic);
    }

    /// The path in `"path"` or `<path>`, and whether it was the latter.
    fn include_path(&self, rest: &[Token]) -> Option<(String, bool)> {
        let (first, rest) = rest.split_first()?;
        match first.kind {
            TokenKind::StringLiteral => Some((unescape(self.interner.text(first.text)), false)),
            TokenKind::LeftAngle => {
                let close = rest.iter().position(|token| token.kind == TokenKind::RightAngle)?;
                let same_file = rest[close].origin.is_none() && first.origin.is_none();
                let inside = if same_file {
                    self.sources
                        .text(Span {
                            start: first.span.end,
                            end: rest[close].span.start,
                            ..first.span
                        })
                        .to_string()
                } else {
                    rest[..close]
                        .iter()
                        .map(|token| token.spelling(&self.interner))
                        .collect()
                };
                Some((inside.trim().to_string(), true))
            }
            _ => None,
        }
    }

    fn include_file(&mut self, span: Span, path: &str, system: bool) {
        if self.frames.len() >= MAX_INCLUDE_DEPTH {
            return self.report_include_depth(span);
        }
        let from = self.frames.last().and_then(|frame| self.sources.file(frame.file));
        let from = from.map_or(String::new(), |file| file.name.to_string());
        let found = self.search.find(path, &from, system);
        let Some(found) = found.or_else(|| self.built_in_of_p4c(span, path)) else {
            let searched = self.search.folders_in_words();
            let mut diagnostic = Diagnostic::error(
                codes::INCLUDE_NOT_FOUND,
                span,
                format!("the file `{path}` was not found"),
            );
            if !searched.is_empty() {
                diagnostic = diagnostic.note(format!("folders searched: {searched}"));
            }
            let library = ["core.p4", "v1model.p4", "psa.p4", "pna.p4", "forebay.p4"];
            let name = path.rsplit('/').next().unwrap_or(path);
            let hint = match closest_name(path, library) {
                _ if name != path && library.contains(&name) => {
                    format!("`{name}` is built in: write `#include <{name}>`")
                }
                _ if OTHER_ARCHITECTURES.contains(&path) => about_architecture(path),
                Some(name) => format!("did you mean `{name}`?"),
                None => "name the folder that contains it with -I".to_string(),
            };
            self.missing_file = true;
            return self.diagnostics.push(diagnostic.hint(hint));
        };
        if self.is_read_once(&found.text) {
            return;
        }
        let known = self.sources.find(&found.name).filter(|id| self.files.contains_key(id));
        let file = known.unwrap_or_else(|| self.sources.add(&found.name, found.text, Some(span)));
        self.open(file);
    }

    /// Whether a file with this text was read and has `#pragma once`. The text decides, as one file can be found under
    /// several names: by a link, or by a folder of `-I` that is written in another way.
    fn is_read_once(&self, text: &str) -> bool {
        let mut files = self.once.iter().filter_map(|file| self.sources.file(*file));
        files.any(|file| *file.text == *text)
    }

    /// The built-in file in place of one of p4c's own, which a program includes by its place on another machine.
    fn built_in_of_p4c(&mut self, span: Span, path: &str) -> Option<FoundSource> {
        let (_, name) = path.rsplit_once("p4include/")?;
        let found = library_file(name)?;
        let message = format!("there is no file `{path}`; the built-in `{name}` takes its place");
        let warning = Diagnostic::warning(codes::BUILT_IN_INCLUDED, span, message);
        self.diagnostics
            .push(warning.hint(format!("write `#include <{name}>`")));
        Some(found)
    }

    fn report_include_depth(&mut self, span: Span) {
        let name = |index: usize| {
            let file = self.frames.get(index).and_then(|frame| self.sources.file(frame.file));
            file.map_or(String::new(), |file| file.name.to_string())
        };
        let innermost = name(self.frames.len() - 1);
        let mut cycle = vec![innermost.clone()];
        for index in (0..self.frames.len() - 1).rev() {
            cycle.push(name(index));
            if name(index) == innermost {
                break;
            }
        }
        cycle.reverse();
        let message = format!("files are included more than {MAX_INCLUDE_DEPTH} deep");
        let mut diagnostic = Diagnostic::error(codes::INCLUDE_TOO_DEEP, span, message);
        if cycle.first() == cycle.last() {
            diagnostic = diagnostic.note(format!("they include each other: {}", cycle.join(" -> ")));
        }
        self.diagnostics
            .push(diagnostic.hint("protect the file with #ifndef NAME, #define NAME, ... #endif"));
    }

    // ---- #define, #undef

    fn define(&mut self, span: Span, rest: &[Token]) {
        let Some((name, rest)) = rest.split_first().filter(|(name, _)| name.kind.is_word()) else {
            return self.malformed(span, "`#define` needs the name of a macro");
        };
        if self.interner.text(name.text) == "defined" {
            return self.malformed(name.span, "`defined` cannot be the name of a macro");
        }
        let is_function = rest
            .first()
            .is_some_and(|token| token.kind == TokenKind::LeftParen && !token.spaced);
        let (parameters, variadic, body) = if is_function {
            let Some((parameters, variadic, body)) = self.macro_parameters(&rest[1..]) else {
                return self.malformed(
                    span.to(name.span),
                    "the parameters of a macro are names between commas, closed by `)`",
                );
            };
            (Some(parameters), variadic, body)
        } else {
            (None, false, rest)
        };
        let at_ends = [body.first(), body.last()].into_iter().flatten();
        if let Some(paste) = at_ends.into_iter().find(|token| token.kind == TokenKind::HashHash) {
            let message = "`##` needs a token on both sides";
            return self
                .diagnostics
                .push(Diagnostic::error(codes::INVALID_PASTE, paste.span, message));
        }
        let body = body.to_vec();
        self.add_macro(Macro {
            name: name.text,
            definition: name.span,
            parameters,
            variadic,
            body,
        });
    }

    fn add_macro(&mut self, new: Macro) {
        if let Some(old) = self.macros.get(&new.name).filter(|old| !same_meaning(old, &new)) {
            let name = self.interner.text(new.name);
            let message = format!("the macro `{name}` is defined a second time, differently");
            let diagnostic = Diagnostic::warning(codes::MACRO_REDEFINED, new.definition, message);
            self.diagnostics
                .push(diagnostic.secondary(old.definition, "first defined here"));
        }
        self.macros.insert(new.name, Rc::new(new));
    }

    /// Reads the parameters after `(`: their names, whether the last one is variadic, and the macro's body.
    fn macro_parameters<'t>(&mut self, tokens: &'t [Token]) -> Option<(Vec<Symbol>, bool, &'t [Token])> {
        let close = tokens.iter().position(|token| token.kind == TokenKind::RightParen)?;
        let (inside, body) = (&tokens[..close], &tokens[close + 1..]);
        let mut names = Vec::new();
        if inside.is_empty() {
            return Some((names, false, body));
        }
        let mut variadic = false;
        for parameter in inside.split(|token| token.kind == TokenKind::Comma) {
            if variadic {
                return None;
            }
            match parameter {
                [dots] if dots.kind == TokenKind::Dots => {
                    variadic = true;
                    names.push(self.interner.intern("__VA_ARGS__"));
                }
                [name, dots] if name.kind.is_word() && dots.kind == TokenKind::Dots => {
                    variadic = true;
                    names.push(name.text);
                }
                [name] if name.kind.is_word() => {
                    if names.contains(&name.text) {
                        let message = format!(
                            "two parameters of the macro are called `{}`",
                            self.interner.text(name.text)
                        );
                        self.malformed(name.span, &message);
                    }
                    names.push(name.text);
                }
                _ => return None,
            }
        }
        Some((names, variadic, body))
    }

    fn undef(&mut self, span: Span, rest: &[Token]) {
        match rest.split_first() {
            Some((name, rest)) if name.kind.is_word() => {
                self.macros.remove(&name.text);
                self.warn_extra(rest);
            }
            _ => self.malformed(span, "`#undef` needs the name of a macro"),
        }
    }

    // ---- #line

    fn line_directive(&mut self, span: Span, rest: &[Token]) {
        let tokens = self.expand_list(rest.to_vec());
        let number = tokens.first().filter(|token| token.kind == TokenKind::Integer);
        let Some(line) = number.and_then(|token| self.interner.text(token.text).parse::<u32>().ok()) else {
            return self.malformed(span, "`#line` needs a line number");
        };
        let name = tokens.get(1).filter(|token| token.kind == TokenKind::StringLiteral);
        let name = name.map(|token| unescape(self.interner.text(token.text)));
        let next_line = self.last_span.end;
        self.sources
            .add_line_directive(span.file, next_line, line, name.as_deref());
    }

    // ---- #if and its relatives

    fn condition_defined(&mut self, span: Span, rest: &[Token]) -> Option<bool> {
        match rest.split_first() {
            Some((name, rest)) if name.kind.is_word() => {
                self.warn_extra(rest);
                Some(self.macros.contains_key(&name.text) || self.is_builtin(name.text))
            }
            _ => {
                self.malformed(span, "the name of a macro is missing");
                None
            }
        }
    }

    fn begin_conditional(&mut self, span: Span, taken: bool) {
        if let Some(frame) = self.frames.last_mut() {
            frame.conditionals.push(Conditional {
                span,
                taken,
                in_else: false,
            });
            if !taken {
                self.skip_branches();
            }
        }
    }

    /// `#elif`, `#else` or `#endif` after a branch that was read.
    fn continue_conditional(&mut self, span: Span, continuation: Continuation, rest: &[Token]) {
        let is_endif = continuation == Continuation::Endif;
        let is_else = continuation == Continuation::Else;
        let Some(conditional) = self.frames.last_mut().and_then(|frame| frame.conditionals.last_mut()) else {
            let message = "there is no `#if` to which this belongs";
            self.diagnostics
                .push(Diagnostic::error(codes::UNBALANCED_CONDITIONAL, span, message));
            if !is_endif && let Some(frame) = self.frames.last_mut() {
                // Its `#endif` follows, about which there is nothing more to say.
                frame.conditionals.push(Conditional {
                    span,
                    taken: true,
                    in_else: is_else,
                });
            }
            return;
        };
        let (opened, misplaced) = (conditional.span, conditional.in_else && !is_endif);
        conditional.in_else |= is_else;
        if misplaced {
            self.report_after_else(span, opened);
        }
        if continuation != Continuation::Elif {
            self.warn_extra(rest);
        }
        if is_endif {
            self.end_conditional();
        } else {
            self.skip_branches();
        }
    }

    fn end_conditional(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.conditionals.pop();
        }
    }

    fn report_after_else(&mut self, span: Span, opened: Span) {
        let message = "only `#endif` can follow `#else`";
        let diagnostic = Diagnostic::error(codes::UNBALANCED_CONDITIONAL, span, message);
        self.diagnostics
            .push(diagnostic.secondary(opened, "the condition begins here"));
    }

    /// Skips lines up to a branch of the innermost conditional that is to be read, or past its `#endif`. What is
    /// skipped need not be P4: a quotation mark without a partner ends with its line.
    fn skip_branches(&mut self) {
        let mut depth = 0;
        while let Some(token) = self.peek_file() {
            if token.kind == TokenKind::EndOfFile {
                if self.extend_window() {
                    continue;
                }
                return;
            }
            self.advance();
            if self.spans_lines(&token) {
                self.resume_after_line_of(token);
                continue;
            }
            if token.kind != TokenKind::Hash || !token.starts_line {
                continue;
            }
            let line = self.rest_of_line();
            if let Some(string) = line.iter().find(|token| self.spans_lines(token)) {
                self.resume_after_line_of(*string);
            }
            let Some((name, rest)) = line.split_first() else {
                continue;
            };
            let mut begins_branch = false;
            match (self.interner.text(name.text), depth) {
                ("if" | "ifdef" | "ifndef", _) => depth += 1,
                ("endif", 0) => {
                    self.warn_extra(rest);
                    return self.end_conditional();
                }
                ("endif", _) => depth -= 1,
                ("elif" | "elifdef" | "elifndef" | "else", 0) => begins_branch = true,
                _ => {}
            }
            if begins_branch && self.enter_branch(token.span.to(name.span), name, rest) {
                return;
            }
        }
    }

    fn spans_lines(&self, token: &Token) -> bool {
        token.kind == TokenKind::StringLiteral && self.interner.text(token.text).contains('\n')
    }

    /// Whether the branch that begins with this `#elif`, one of its variants, or `#else` is to be read.
    fn enter_branch(&mut self, span: Span, name: &Token, rest: &[Token]) -> bool {
        let directive = self.interner.text(name.text).to_owned();
        let is_else = directive == "else";
        let Some(conditional) = self.frames.last_mut().and_then(|frame| frame.conditionals.last_mut()) else {
            return true;
        };
        let (opened, after_else, taken) = (conditional.span, conditional.in_else, conditional.taken);
        conditional.in_else |= is_else;
        if after_else {
            self.report_after_else(span, opened);
            return false;
        }
        if taken {
            return false;
        }
        let chosen = match directive.as_str() {
            "else" => true,
            "elifdef" | "elifndef" => self.condition_defined(span, rest) == Some(directive == "elifdef"),
            _ => self.condition(span, rest),
        };
        if let Some(conditional) = self.frames.last_mut().and_then(|frame| frame.conditionals.last_mut()) {
            conditional.taken = chosen;
        }
        chosen
    }
}

/// Whether two definitions of a macro are the same: equal tokens, with white space at the same places.
fn same_meaning(left: &Macro, right: &Macro) -> bool {
    let key = |token: &Token| (token.kind, token.text, token.spaced);
    let bodies = left.body.len() == right.body.len()
        && left
            .body
            .iter()
            .zip(&right.body)
            .enumerate()
            .all(|(index, (left, right))| {
                if index == 0 {
                    (left.kind, left.text) == (right.kind, right.text)
                } else {
                    key(left) == key(right)
                }
            });
    left.parameters == right.parameters && left.variadic == right.variadic && bodies
}
