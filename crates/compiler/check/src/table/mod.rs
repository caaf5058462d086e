//! Tables (§14.2): properties, keys and action lists.

mod action_use;
mod entries;
mod properties;

use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use crate::text::expr_text;
use forebay_syntax::ast::{self, TablePropertyValue};
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::known::Place;

impl Checker {
    /// `table t {..}`
    pub(crate) fn declare_table(&mut self, item: &ast::Table, annotations: &[ast::Annotation]) -> Option<TableId> {
        let control = self.context.control?;
        let annotations = self.annotations(Place::Table, annotations);
        self.check_distinct_properties(item);
        let mut table = Table {
            name: item.name.name.clone(),
            control,
            keys: Vec::new(),
            actions: Vec::new(),
            default_action: None,
            empty_group_action: None,
            entries: Vec::new(),
            entries_are_const: false,
            size: None,
            properties: Vec::new(),
            annotations,
            span: item.name.span,
        };
        let name = item.name.name.clone();
        self.within(
            |context| {
                context.table = Some(name.clone());
                context.defining.push(name);
            },
            |checker| {
                checker.scoped(|checker| {
                    checker.scopes.hide(&item.name.name);
                    checker.check_properties(item, &mut table);
                });
            },
        );
        let id = TableId(self.program.tables.len() as u32);
        self.program.tables.push(table);
        self.define(&item.name, Entity::Table(id));
        Some(id)
    }

    fn check_distinct_properties(&mut self, item: &ast::Table) {
        for (index, property) in item.properties.iter().enumerate() {
            self.annotations(Place::Property, &property.annotations);
            let earlier = item.properties[..index]
                .iter()
                .find(|other| other.name.name == property.name.name);
            if let Some(earlier) = earlier {
                let message = format!("the property `{}` is given twice", property.name.name);
                let diagnostic = Diagnostic::error(codes::DUPLICATE_PROPERTY, property.name.span, message);
                self.report(diagnostic.secondary(earlier.name.span, "first given here"));
            }
        }
    }

    fn check_properties(&mut self, item: &ast::Table, table: &mut Table) {
        self.check_property_order(item);
        let mut listed = None;
        for property in &item.properties {
            match &property.value {
                TablePropertyValue::Key(keys) => {
                    table.keys = keys.iter().map(|key| self.check_key(key)).collect();
                }
                TablePropertyValue::Actions(actions) => listed = Some(actions.as_slice()),
                _ => {}
            }
        }
        match listed {
            Some(actions) => self.check_action_list(actions, table),
            None => {
                let message = format!("the table {} has no `actions` property", item.name.name);
                let hint = "list the actions that entries can have: `actions = { ... }`";
                self.error_with_hint(codes::TABLE_WITHOUT_ACTIONS, item.name.span, message, hint);
            }
        }
        for property in &item.properties {
            if listed.is_some() || !names_actions(property) {
                self.check_other_property(property, listed.unwrap_or(&[]), table);
            }
        }
        self.check_priority_properties(table);
        self.check_entry_list(item, table);
        let has_default = item
            .properties
            .iter()
            .any(|property| property.name.name == "default_action");
        if listed.is_some() && !has_default {
            self.check_no_action(item);
        }
    }

    /// Keys and actions stand before what refers to them.
    fn check_property_order(&mut self, item: &ast::Table) {
        let position = |name: &str| item.properties.iter().position(|property| property.name.name == name);
        for (before, after) in [
            ("key", "entries"),
            ("actions", "entries"),
            ("actions", "default_action"),
        ] {
            let (Some(first), Some(second)) = (position(before), position(after)) else {
                continue;
            };
            if second < first {
                let message = format!("`{after}` must stand after `{before}`");
                self.error(codes::INVALID_PROPERTY, item.properties[second].name.span, message);
            }
        }
    }

    /// Without a default_action, a miss runs NoAction, so that must exist.
    fn check_no_action(&mut self, item: &ast::Table) {
        let found = match self.scopes.find_top("NoAction").map(|entry| &entry.entity) {
            Some(Entity::Action(id)) => self.program.actions[id.index()].params.is_empty(),
            _ => false,
        };
        if !found {
            let message = format!(
                "the table {} has no default_action, and NoAction, which would stand in for it, is not declared",
                item.name.name
            );
            self.report(Diagnostic::error(codes::NO_ACTION_MISSING, item.name.span, message).absent("NoAction"));
        }
    }

    fn check_key(&mut self, key: &ast::KeyElement) -> TableKey {
        let expr = self.check_typed_value(&key.expr);
        let expr = if expr.ty == Type::Int {
            let message = "a key needs a width";
            self.error(codes::INVALID_KEY, key.expr.span, message);
            self.invalid(key.expr.span)
        } else {
            expr
        };
        let scalar = matches!(
            self.program.unwrapped(&expr.ty),
            Type::Bit(_) | Type::Signed(_) | Type::Bool | Type::Error | Type::Enum(_) | Type::Unknown
        );
        let asks_validity = self.program.is_header(&expr.ty) && key.match_kind.ident.name == "valid";
        if !scalar {
            let message = format!("a value of type {} cannot be a table key", self.show(&expr.ty));
            let diagnostic = Diagnostic::error(codes::INVALID_KEY, key.expr.span, message);
            self.report(match expr.ty {
                _ if asks_validity => {
                    let text = expr_text(&key.expr);
                    diagnostic.hint(format!("`valid` belongs to P4_14: write `{text}.isValid() : exact;`"))
                }
                Type::Composite(..) => diagnostic.hint("use the fields that matter, each as a key"),
                _ => diagnostic,
            });
        }
        let named = crate::annotations::has(&key.annotations, "name");
        if self.is_constant(&expr) && !matches!(expr.kind, ExprKind::Invalid) {
            let message = "this key is the same for every packet";
            self.report(Diagnostic::warning(codes::CONSTANT_KEY, key.expr.span, message));
        } else if !named && !has_simple_name(&key.expr) {
            let message = "a key that is not a plain field needs a @name annotation";
            let diagnostic = Diagnostic::error(codes::INVALID_KEY, key.expr.span, message);
            self.report(diagnostic.hint("write @name(\"...\") after the match kind, or use a variable"));
        }
        if !asks_validity {
            self.check_match_kind(&key.match_kind.ident);
        }
        let annotations = self.annotations(Place::Key, &key.annotations);
        TableKey {
            expr,
            match_kind: key.match_kind.ident.name.clone(),
            source_text: expr_text(&key.expr),
            annotations,
            span: key.expr.span,
        }
    }

    fn check_match_kind(&mut self, name: &ast::Ident) {
        if self.program.match_kinds.contains(&name.name) {
            return;
        }
        let message = format!("there is no match kind `{}`", name.name);
        let kinds = self.program.match_kinds.clone();
        let diagnostic = Diagnostic::error(codes::UNKNOWN_MATCH_KIND, name.span, message)
            .did_you_mean(&name.name, kinds.iter().map(String::as_str))
            .options(kinds.clone());
        self.report(diagnostic.absent(&name.name));
    }

    fn check_other_property(&mut self, property: &ast::TableProperty, listed: &[ast::ActionRef], table: &mut Table) {
        match (&property.value, property.name.name.as_str()) {
            (TablePropertyValue::Key(_) | TablePropertyValue::Actions(_), _) => {}
            (TablePropertyValue::Entries(entries), _) => {
                table.entries_are_const = property.is_const;
                self.check_entries(entries, property, listed, table);
            }
            (TablePropertyValue::Expr(value), "default_action") => {
                table.default_action = self.check_default_action(value, property, listed, table);
            }
            (TablePropertyValue::Expr(value), "psa_empty_group_action" | "pna_empty_group_action") => {
                table.empty_group_action = self.check_property_action(value, property, listed, table);
            }
            (TablePropertyValue::Expr(value), "size") => table.size = Some(self.check_size(value)),
            (TablePropertyValue::Expr(value), _) => {
                let kept = self.check_additional_property(property, value);
                table.properties.push(kept);
            }
            (TablePropertyValue::Flag, _) => {
                let value = Expr {
                    kind: ExprKind::Bool(true),
                    ty: Type::Bool,
                    span: property.span,
                };
                let kept = self.kept_property(property, value);
                table.properties.push(kept);
            }
        }
    }

    fn check_size(&mut self, value: &ast::Expr) -> Expr {
        let size = self.check_typed_value(value);
        let size = self.number_of(size);
        if !size.ty.is_number() && !size.ty.is_unknown() {
            let message = format!("the size of a table must be a number, not {}", self.show(&size.ty));
            self.error(codes::INVALID_PROPERTY, value.span, message);
        } else {
            self.require_constant(&size, "the size of a table");
        }
        size
    }
}

/// Whether the value of a property has actions, which must be in the table's list.
fn names_actions(property: &ast::TableProperty) -> bool {
    matches!(property.value, TablePropertyValue::Entries(_)) || property.name.name.ends_with("_action")
}

/// `& number` or `& constant`
fn is_mask(link: &ast::Link) -> bool {
    link.op == ast::BinaryOp::BitAnd && matches!(link.right.kind, ast::ExprKind::Int(_) | ast::ExprKind::Name(_))
}

/// Whether the control plane can name a key after its expression: fields, elements, slices, isValid.
fn has_simple_name(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ast::ExprKind::Name(_) | ast::ExprKind::Int(_) | ast::ExprKind::Bool(_) | ast::ExprKind::Type(_) => true,
        ast::ExprKind::Member { base, .. } => has_simple_name(base),
        ast::ExprKind::Index { base, index } => has_simple_name(base) && has_simple_name(index),
        ast::ExprKind::Slice { base, .. } => has_simple_name(base),
        ast::ExprKind::PlusSlice { base, .. } => has_simple_name(base),
        ast::ExprKind::Cast { operand, .. } => has_simple_name(operand),
        ast::ExprKind::Binary { first, links } => has_simple_name(first) && links.iter().all(is_mask),
        ast::ExprKind::Call { callee, args, .. } => match &callee.kind {
            ast::ExprKind::Member { base, member } => {
                member.name == "isValid" && args.is_empty() && has_simple_name(base)
            }
            _ => false,
        },
        _ => false,
    }
}
