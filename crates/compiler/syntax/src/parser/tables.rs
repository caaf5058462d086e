//! Tables: keys, actions, entries and other properties (P4_16 specification, "Tables").

use super::{Parsed, ProgramParser};
use crate::ast::{
    ActionRef, Annotation, DeclarationKind, Entry, Expr, KeyElement, Name, Table, TableProperty, TablePropertyValue,
};
use crate::codes::source as codes;
use crate::diagnostic::Diagnostic;
use crate::token::TokenKind;

impl ProgramParser<'_> {
    /// `table t { properties }`
    pub(super) fn table(&mut self) -> Parsed<DeclarationKind> {
        self.bump();
        let name = self.name("the name of a table")?;
        let properties = self.braced("the properties of the table", Self::table_property)?;
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
        let name = self.name("the name of a property")?;
        self.expect(TokenKind::Assign, "after the name of the property")?;
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
        self.expect(TokenKind::Colon, "and an action after the keyset")?;
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
