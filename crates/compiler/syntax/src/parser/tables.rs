//! Tables: keys, actions, entries and other properties (P4_16 specification, "Tables").

use super::{Inside, Parsed, ProgramParser};
use crate::ast::{
    ActionRef, Annotation, DeclarationKind, Entry, Expr, Ident, KeyElement, Name, Table, TableProperty,
    TablePropertyValue,
};
use crate::codes::source as codes;
use crate::diagnostic::{Diagnostic, closest_name};
use crate::token::TokenKind;

/// Match kinds of core.p4 and v1model.p4: what stands after the `:` of a key.
const MATCH_KINDS: [&str; 6] = ["exact", "lpm", "ternary", "range", "optional", "selector"];

impl ProgramParser<'_> {
    /// `table t { properties }`
    pub(super) fn table(&mut self) -> Parsed<DeclarationKind> {
        self.bump();
        let name = self.name("the name of a table")?;
        let properties = self.within(Inside::Table, |parser| {
            parser.braced("the properties of the table", Self::table_property)
        })?;
        Ok(DeclarationKind::Table(Table { name, properties }))
    }

    fn table_property(&mut self) -> Parsed<TableProperty> {
        let start = self.span();
        let annotations = self.annotations()?;
        let is_const = self.eat(TokenKind::Const);
        let kind = self.peek();
        if is_const && matches!(kind, TokenKind::Key | TokenKind::Actions) {
            let message = format!("`{}` is always constant; `const` cannot stand before it", kind.text());
            self.report(Diagnostic::error(
                codes::INVALID_TABLE_PROPERTY,
                self.previous_span(),
                message,
            ));
        }
        if self.at(TokenKind::Action) && self.peek_at(1) == TokenKind::Assign {
            let name = self.ident_of(self.token());
            self.report_list_name(&name, TokenKind::Actions);
            self.reread = Some((self.next, TokenKind::Actions));
        }
        let kind = self.peek();
        if !self.is_name_at(0) {
            let diagnostic = self.unexpected_diagnostic(codes::INVALID_TABLE_PROPERTY, "a property of the table");
            let options = [
                "key",
                "actions",
                "entries",
                "default_action",
                "size",
                "another property",
            ];
            return Err(self.report(diagnostic.options(options)));
        }
        let mut name = self.name("the name of a property")?;
        let kind = match self.list_meant(kind, &name) {
            Some(meant) => {
                self.report_list_name(&name, meant);
                name.name = meant.text().to_string();
                self.eat(TokenKind::Assign);
                meant
            }
            None => {
                self.property_sign(kind)?;
                kind
            }
        };
        let value = match kind {
            TokenKind::Key => TablePropertyValue::Key(self.braced("the keys", Self::key_element)?),
            TokenKind::Actions => TablePropertyValue::Actions(self.braced("the actions", Self::listed_action)?),
            TokenKind::Entries => TablePropertyValue::Entries(self.braced("the entries", Self::entry)?),
            _ => {
                let value = self.expression()?;
                self.expect_semicolon("the property")?;
                TablePropertyValue::Expr(value)
            }
        };
        Ok(TableProperty {
            annotations,
            is_const,
            name,
            value,
            span: self.since(start),
        })
    }

    /// Reads the `=` of a property. Before a list it is reported when it is missing or another sign, and the list is
    /// read.
    fn property_sign(&mut self, kind: TokenKind) -> Parsed<()> {
        use TokenKind::{Actions, Assign, Colon, Entries, Key, LeftBrace};
        let place = "after the name of the property";
        let is_list = matches!(kind, Key | Actions | Entries);
        let brace = usize::from(self.at(Colon));
        if self.at(Assign) || !is_list || self.peek_at(brace) != LeftBrace {
            self.expect(Assign, place)?;
            return Ok(());
        }
        self.unexpected(codes::UNEXPECTED_TOKEN, &format!("`=` {place}"));
        self.eat(Colon);
        Ok(())
    }

    /// For a property of another name whose value is a list of keys, actions or entries: which of them is meant.
    fn list_meant(&self, kind: TokenKind, name: &Ident) -> Option<TokenKind> {
        use TokenKind::{Actions, Assign, Colon, Entries, Key, LeftBrace, Semicolon};
        if matches!(kind, Key | Actions | Entries) {
            return None;
        }
        let open = usize::from(self.at(Assign));
        if self.peek_at(open) != LeftBrace {
            return None;
        }
        let end = self.after_group(open)?;
        let inside = &self.input.tokens[self.next + open + 1..self.next + end - 1];
        inside.iter().find(|token| token.kind == Semicolon)?;
        let colon = inside.iter().position(|token| token.kind == Colon);
        let Some(behind) = colon.and_then(|colon| inside.get(colon + 1)) else {
            return Some(Actions);
        };
        let close = closest_name(&name.name, [Key.text(), Entries.text()]);
        match close {
            Some("key") => Some(Key),
            _ if MATCH_KINDS.contains(&self.text(*behind)) => Some(Key),
            _ => Some(Entries),
        }
    }

    fn report_list_name(&mut self, name: &Ident, meant: TokenKind) {
        let message = format!("a table has no property `{}`", name.name);
        let diagnostic = Diagnostic::error(codes::INVALID_TABLE_PROPERTY, name.span, message);
        let meant = meant.text();
        self.report(match name.name.as_str() {
            "reads" => diagnostic.hint(format!("`reads` belongs to P4_14: write `{meant} = {{ ... }}`")),
            _ => diagnostic.hint(format!("did you mean `{meant}`?")),
        });
    }

    /// `expression : match_kind annotations ;`
    fn key_element(&mut self) -> Parsed<KeyElement> {
        let expr = self.expression()?;
        self.expect(TokenKind::Colon, "and a match kind after the key")?;
        let match_kind = Name {
            absolute: false,
            ident: self.name("the name of a match kind")?,
        };
        let annotations = self.annotations()?;
        self.expect_semicolon("the key")?;
        Ok(KeyElement {
            expr,
            match_kind,
            annotations,
        })
    }

    fn listed_action(&mut self) -> Parsed<ActionRef> {
        let annotations = self.annotations()?;
        let action = self.action_reference(annotations)?;
        self.expect_semicolon("the action")?;
        Ok(action)
    }

    /// `a`, `.a` or `a(arguments)`
    fn action_reference(&mut self, annotations: Vec<Annotation>) -> Parsed<ActionRef> {
        let start = annotations.first().map_or(self.span(), |annotation| annotation.span);
        let absolute = self.eat(TokenKind::Dot);
        let name = Name {
            absolute,
            ident: self.name("the name of an action")?,
        };
        let args = if self.at(TokenKind::LeftParen) {
            Some(self.arguments()?)
        } else {
            None
        };
        Ok(ActionRef {
            annotations,
            name,
            args,
            span: self.since(start),
        })
    }

    /// `[const] [priority = n :] keyset : action annotations ;`
    fn entry(&mut self) -> Parsed<Entry> {
        let start = self.span();
        let is_const = self.eat(TokenKind::Const);
        let has_priority = self.at(TokenKind::Priority) && self.peek_at(1) == TokenKind::Assign;
        let priority = if has_priority {
            Some(self.entry_priority()?)
        } else {
            None
        };
        let keyset = self.keyset()?;
        self.colon_after_keyset("and an action after the keyset")?;
        let action = self.action_reference(Vec::new())?;
        let annotations = self.annotations()?;
        self.expect_semicolon("the entry")?;
        Ok(Entry {
            annotations,
            is_const,
            priority,
            keyset,
            action,
            span: self.since(start),
        })
    }

    /// `priority = 10 :` or `priority = (expression) :`
    fn entry_priority(&mut self) -> Parsed<Expr> {
        self.bump();
        self.bump();
        let priority = self.postfix(false)?;
        self.expect(TokenKind::Colon, "after the priority")?;
        Ok(priority)
    }
}
