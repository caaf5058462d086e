//! Entries in the program (§14.2.1.4): keysets, actions, priorities.

use super::action_use::ActionUse;
use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::source::Span;
use num_bigint::BigInt;
use num_traits::{One, Signed, Zero};

impl Checker {
    /// `entries = {..}`
    pub(super) fn check_entries(
        &mut self,
        entries: &[ast::Entry],
        property: &ast::TableProperty,
        listed: &[ast::ActionRef],
        table: &mut Table,
    ) {
        if table.keys.is_empty() {
            let message = format!("the table {} has no key, so it cannot have entries", table.name);
            self.error(codes::INVALID_ENTRY, property.name.span, message);
            return;
        }
        let prioritised = table.keys.iter().any(|key| !matches!(key.match_kind.as_str(), "exact" | "lpm"));
        let types: Vec<Type> = table.keys.iter().map(|key| key.expr.ty.clone()).collect();
        for entry in entries {
            let keysets = self.check_keysets(&entry.keyset, &types);
            let priority = entry.priority.as_ref().map(|priority| self.check_priority(priority, prioritised));
            let used = ActionUse {
                name: &entry.action.name,
                args: entry.action.args.as_deref(),
                span: entry.action.span,
                code: codes::INVALID_ENTRY,
            };
            let action = self.check_action_use(&used, listed, table);
            let annotations = self.annotations(&entry.annotations);
            let (Some(keysets), Some((action, args))) = (keysets, action) else { continue };
            self.check_entry_keysets(&keysets, table, entry.keyset.span);
            table.entries.push(TableEntry {
                keysets,
                action,
                args,
                priority,
                is_const: entry.is_const || property.is_const,
                annotations,
                span: entry.span,
            });
        }
    }

    fn check_priority(&mut self, priority: &ast::Expr, allowed: bool) -> Expr {
        if !allowed {
            let message = "entries of a table whose keys are exact or lpm have no priorities";
            self.error(codes::INVALID_PRIORITY, priority.span, message);
        }
        let value = self.check_value(priority);
        let value = self.to_number(value);
        match &value.kind {
            ExprKind::Int(number) if number.is_negative() => {
                self.error(codes::INVALID_PRIORITY, priority.span, "a priority cannot be negative");
            }
            ExprKind::Int(number) if number.bits() > 31 => {
                self.error(codes::INVALID_PRIORITY, priority.span, "the priority is too large");
            }
            ExprKind::Int(_) | ExprKind::Invalid => {}
            _ => self.error(codes::INVALID_PRIORITY, priority.span, "a priority must be a compile-time constant"),
        }
        value
    }

    /// Keysets must be constants, and masks of lpm keys prefixes.
    fn check_entry_keysets(&mut self, keysets: &[KeySet], table: &Table, span: Span) {
        for (keyset, key) in keysets.iter().zip(&table.keys) {
            match keyset {
                KeySet::Any => {}
                KeySet::Value(value) => {
                    self.require_constant(value, "a value in an entry");
                }
                KeySet::Mask(value, mask) => {
                    self.require_constant(value, "a value in an entry");
                    self.require_constant(mask, "a mask in an entry");
                    self.check_mask(mask, key);
                }
                KeySet::Range(low, high) => {
                    self.require_constant(low, "the end of a range in an entry");
                    self.require_constant(high, "the end of a range in an entry");
                }
                KeySet::ValueSet(_) => {
                    self.error(codes::INVALID_ENTRY, span, "a value set cannot stand in an entry");
                }
            }
        }
    }

    fn check_mask(&mut self, mask: &Expr, key: &TableKey) {
        if key.match_kind != "lpm" {
            return;
        }
        let (ExprKind::Int(value), Some(width)) = (&mask.kind, self.program.underlying(&key.expr.ty).width()) else {
            return;
        };
        if !is_prefix(value, width) {
            let message = "the mask of an lpm key must be a prefix: ones followed by zeros";
            self.error(codes::INVALID_ENTRY, mask.span, message);
        }
    }
}

/// Whether the mask is ones followed by zeros.
fn is_prefix(mask: &BigInt, width: u32) -> bool {
    let ones = crate::fold::mask(width);
    let rest = &ones - crate::fold::low_bits(mask, width);
    (&rest & (&rest + BigInt::one())).is_zero()
}
