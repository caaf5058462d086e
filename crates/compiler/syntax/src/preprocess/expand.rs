//! The expansion of macros.

use super::{MAX_MACRO_NESTING, Macro, Pending, Preprocessor};
use crate::codes::source as codes;
use crate::diagnostic::Diagnostic;
use crate::lexer::tokenize;
use crate::token::{MacroUse, Symbol, Token, TokenKind};
use std::rc::Rc;

/// An argument of a macro: as written, and expanded when that is first needed.
struct Argument {
    tokens: Vec<Token>,
    expanded: Option<Vec<Token>>,
}

impl Preprocessor<'_> {
    /// The next token, macros expanded.
    pub(super) fn next_expanded(&mut self) -> Token {
        loop {
            let mut token = self.read();
            if !token.kind.is_word() || token.painted {
                return token;
            }
            if let Some(builtin) = self.builtin(token) {
                return builtin;
            }
            let Some(definition) = self.macros.get(&token.text).cloned() else {
                return token;
            };
            if self.disabled.contains_key(&token.text) {
                token.painted = true;
                return token;
            }
            if !self.expand(token, &definition) {
                return token;
            }
        }
    }

    /// Expands the macro calls in a list of tokens, without reading on in the file.
    pub(super) fn expand_list(&mut self, tokens: Vec<Token>) -> Vec<Token> {
        if self.nesting >= MAX_MACRO_NESTING {
            let message = format!("macro calls are nested more than {MAX_MACRO_NESTING} deep");
            self.diagnostics
                .push(Diagnostic::error(codes::NESTING_TOO_DEEP, self.last_span, message));
            return tokens;
        }
        self.nesting += 1;
        let list = Pending {
            tokens,
            next: 0,
            expansion_of: None,
        };
        let outer = std::mem::replace(&mut self.pending, vec![list]);
        let outer_isolated = std::mem::replace(&mut self.isolated, true);
        let mut out = Vec::new();
        loop {
            let token = self.next_expanded();
            match token.kind {
                TokenKind::EndOfFile => break,
                TokenKind::Newline => {}
                _ => out.push(token),
            }
        }
        self.pending = outer;
        self.isolated = outer_isolated;
        self.nesting -= 1;
        out
    }

    /// Whether a name has a meaning that the preprocessor computes.
    pub(super) fn is_builtin(&self, name: Symbol) -> bool {
        matches!(self.interner.text(name), "__FILE__" | "__LINE__")
    }

    fn builtin(&mut self, token: Token) -> Option<Token> {
        if !self.is_builtin(token.text) {
            return None;
        }
        let (file, line) = self.sources.line(token.span)?;
        let (kind, text) = if self.interner.text(token.text) == "__LINE__" {
            (TokenKind::Integer, line.to_string())
        } else {
            (TokenKind::StringLiteral, quote(&file))
        };
        Some(Token {
            kind,
            text: self.interner.intern(&text),
            ..token
        })
    }

    /// Puts the expansion of a macro in front of the input; false if this use of its name is not a call.
    fn expand(&mut self, token: Token, definition: &Rc<Macro>) -> bool {
        let mut arguments = Vec::new();
        if let Some(parameters) = &definition.parameters {
            if !self.eat_left_paren() {
                return false;
            }
            match self.arguments(token, definition, parameters.len()) {
                Some(list) => arguments = list,
                None => {
                    let nothing = self.nothing_at(token);
                    self.pending.push(Pending {
                        tokens: vec![nothing],
                        next: 0,
                        expansion_of: None,
                    });
                    return true;
                }
            }
        }
        let origin = self.add_macro_use(definition);
        let mut tokens = self.substitute(definition, &mut arguments, token, origin);
        if let Some(first) = tokens.first_mut() {
            first.spaced = token.spaced;
            first.starts_line = token.starts_line;
        }
        if self.pay(tokens.len() + 1) {
            *self.disabled.entry(definition.name).or_insert(0) += 1;
            self.pending.push(Pending {
                tokens,
                next: 0,
                expansion_of: Some(definition.name),
            });
        }
        true
    }

    /// Reads `(` if it comes next, even on a later line; otherwise leaves the input as it is.
    fn eat_left_paren(&mut self) -> bool {
        let mut skipped = Vec::new();
        loop {
            let token = self.read();
            if token.kind == TokenKind::LeftParen {
                return true;
            }
            skipped.push(token);
            if token.kind != TokenKind::Newline {
                self.pending.push(Pending {
                    tokens: skipped,
                    next: 0,
                    expansion_of: None,
                });
                return false;
            }
        }
    }

    /// Reads the arguments of a call after `(`, as many as the macro has parameters; reports a wrong number.
    fn arguments(&mut self, call: Token, definition: &Macro, wanted: usize) -> Option<Vec<Argument>> {
        let mut list = vec![Vec::new()];
        let mut depth = 0;
        let mut spaced = false;
        loop {
            let mut token = self.read();
            match token.kind {
                TokenKind::EndOfFile => {
                    self.report_arguments(call, definition, "has no closing `)`");
                    return None;
                }
                TokenKind::Newline => {
                    spaced = true;
                    continue;
                }
                TokenKind::RightParen if depth == 0 => break,
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen => depth -= 1,
                TokenKind::Comma if depth == 0 && !(definition.variadic && list.len() >= wanted) => {
                    list.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            token.spaced |= std::mem::take(&mut spaced);
            if let Some(last) = list.last_mut() {
                last.push(token);
            }
        }
        if wanted == 0 && list.len() == 1 && list[0].is_empty() {
            list.clear();
        }
        if definition.variadic && list.len() + 1 == wanted {
            list.push(Vec::new());
        }
        if list.len() != wanted {
            let plural = if list.len() == 1 { "" } else { "s" };
            let problem = format!("has {} argument{plural} instead of {wanted}", list.len());
            self.report_arguments(call, definition, &problem);
            return None;
        }
        Some(
            list.into_iter()
                .map(|tokens| Argument { tokens, expanded: None })
                .collect(),
        )
    }

    fn report_arguments(&mut self, call: Token, definition: &Macro, problem: &str) {
        let message = format!(
            "this use of the macro `{}` {problem}",
            self.interner.text(definition.name)
        );
        let diagnostic = Diagnostic::error(codes::MACRO_ARGUMENTS, call.span, message);
        self.diagnostics
            .push(diagnostic.secondary(definition.definition, "defined here"));
    }

    /// The macro's body with its arguments in place of the parameters.
    fn substitute(
        &mut self,
        definition: &Macro,
        arguments: &mut [Argument],
        call: Token,
        origin: MacroUse,
    ) -> Vec<Token> {
        let parameter = |token: &Token| {
            let names = definition.parameters.as_ref()?;
            names
                .iter()
                .position(|name| token.kind.is_word() && *name == token.text)
        };
        let is_variadic = |index: usize| definition.variadic && index + 1 == arguments.len();
        let variadic_empty = definition.variadic && arguments.last().is_some_and(|last| last.tokens.is_empty());
        let variadic_index = arguments.len().checked_sub(1).filter(|index| is_variadic(*index));
        let body = &definition.body;
        let mut out: Vec<Token> = Vec::new();
        let mut index = 0;
        // Where the operands of `##` begin that the next one is joined to, and whether there is a space before them.
        let (mut operand, mut operand_spaced) = (0, false);
        while let Some(token) = body.get(index) {
            let pasted = index > 0 && body[index - 1].kind == TokenKind::HashHash;
            let pastes = body.get(index + 1).is_some_and(|next| next.kind == TokenKind::HashHash);
            let next_parameter = body.get(index + 1).and_then(parameter);
            index += 1;
            if out.len() > self.budget {
                break;
            }
            let start = out.len();
            match (token.kind, parameter(token)) {
                (TokenKind::HashHash, _) => continue,
                (TokenKind::Hash, _) if next_parameter.is_some() => {
                    let argument = next_parameter.map_or(0, |parameter| parameter);
                    index += 1;
                    out.push(self.stringify(&arguments[argument].tokens, *token));
                }
                // GNU: in `, ## rest` the comma goes when nothing is given for the variadic parameter.
                (TokenKind::Comma, _)
                    if pastes
                        && variadic_index.is_some()
                        && body.get(index + 1).and_then(parameter) == variadic_index =>
                {
                    index += 2;
                    if variadic_empty {
                        continue;
                    }
                    out.push(*token);
                    out.extend_from_slice(self.expanded_argument(&mut arguments[variadic_index.unwrap_or(0)]));
                }
                (_, Some(parameter)) if pasted || pastes => out.extend_from_slice(&arguments[parameter].tokens),
                (_, Some(parameter)) => out.extend_from_slice(self.expanded_argument(&mut arguments[parameter])),
                _ => out.push(*token),
            }
            if let Some(first) = out.get_mut(start) {
                if parameter(token).is_none() {
                    (first.span, first.origin) = (call.span, Some(origin));
                }
                first.spaced = token.spaced;
            }
            if !pasted {
                (operand, operand_spaced) = (start, token.spaced);
                continue;
            }
            let mut right = out.split_off(start);
            if start == operand {
                // Nothing is given for what stands before.
                if let Some(first) = right.first_mut() {
                    first.spaced = operand_spaced;
                }
                out.extend(right);
            } else {
                self.paste(&mut out, right, call, origin);
            }
        }
        out
    }

    fn expanded_argument<'a>(&mut self, argument: &'a mut Argument) -> &'a [Token] {
        let Argument { tokens, expanded } = argument;
        expanded.get_or_insert_with(|| self.expand_list(tokens.clone()))
    }

    /// `#`: the spelling of an argument as a string literal.
    fn stringify(&mut self, tokens: &[Token], at: Token) -> Token {
        let mut text = String::new();
        for (index, token) in tokens.iter().enumerate() {
            if index > 0 && token.spaced {
                text.push(' ');
            }
            text.push_str(token.spelling(&self.interner));
        }
        Token {
            kind: TokenKind::StringLiteral,
            text: self.interner.intern(&quote(&text)),
            ..at
        }
    }

    /// `##`: joins the last token of `out` and the first of `right`. If the result is not one token it is
    /// passed on as several, as p4c's preprocessor does.
    fn paste(&mut self, out: &mut Vec<Token>, right: Vec<Token>, call: Token, origin: MacroUse) {
        let mut right = right.into_iter();
        let Some(first) = right.next() else { return };
        let Some(left) = out.pop() else {
            out.push(first);
            return out.extend(right);
        };
        let text = format!("{}{}", left.spelling(&self.interner), first.spelling(&self.interner));
        let tokens = tokenize(call.span.file, &text, &mut self.interner);
        let made = tokens.into_iter().filter(|token| token.kind != TokenKind::EndOfFile);
        out.extend(made.enumerate().map(|(index, token)| Token {
            span: call.span,
            origin: Some(origin),
            spaced: index == 0 && left.spaced,
            starts_line: false,
            ..token
        }));
        out.extend(right);
    }
}

/// A string literal that stands for a text.
fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
