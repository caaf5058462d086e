//! Entries in the program (§14.2.1.4): keysets, actions, priorities.

use super::action_use::ActionUse;
use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast::{self, TablePropertyValue};
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::known::Place;
use forebay_syntax::source::Span;
use num_bigint::BigInt;
use num_traits::{One, Signed, Zero};
use std::collections::HashMap;

impl Checker {
    /// `entries = {..}`
    pub(super) fn check_entries(
        &mut self,
        entries: &[ast::Entry],
        property: &ast::TableProperty,
        listed: &[ast::ActionRef],
        table: &mut Table,
    ) {
        if entries.is_empty() {
            return;
        }
        if table.keys.is_empty() {
            let message = format!("the table {} has no key, so it cannot have entries", table.name);
            self.error(codes::INVALID_ENTRY, property.name.span, message);
            return;
        }
        let prioritised = table
            .keys
            .iter()
            .any(|key| !matches!(key.match_kind.as_str(), "exact" | "lpm"));
        let types: Vec<Type> = table.keys.iter().map(|key| key.expr.ty.clone()).collect();
        for entry in entries {
            forebay_budget::check();
            let keysets = self.check_keysets(&entry.keyset, &types);
            let priority = entry
                .priority
                .as_ref()
                .map(|priority| self.check_priority(priority, prioritised));
            let used = ActionUse {
                name: &entry.action.name,
                args: entry.action.args.as_deref(),
                span: entry.action.span,
                code: codes::INVALID_ENTRY,
            };
            let action = self.check_action_use(&used, listed, table);
            self.check_not_default_only(action.as_ref().map(|(index, _)| *index), table, entry);
            let annotations = self.annotations(Place::Entry, &entry.annotations);
            let (Some(keysets), Some((action, args))) = (keysets, action) else {
                continue;
            };
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

    /// The entries beside each other, once all properties are known: those that say what priorities mean may stand behind
    /// the entries. Of a list with mistakes nothing is said, since the priorities behind these are not known.
    pub(super) fn check_entry_list(&mut self, item: &ast::Table, table: &Table) {
        for property in &item.properties {
            if let TablePropertyValue::Entries(entries) = &property.value
                && entries.len() == table.entries.len()
            {
                self.check_priority_order(entries, property, table);
            }
        }
        self.check_duplicate_entries(table);
    }

    fn check_not_default_only(&mut self, action: Option<usize>, table: &Table, entry: &ast::Entry) {
        let action = action.and_then(|index| table.actions.get(index));
        if action.is_some_and(|action| crate::annotations::has(&action.annotations, "defaultonly")) {
            let message = format!(
                "the action `{}` is marked @defaultonly, so an entry cannot have it",
                entry.action.name.ident.name
            );
            self.error(codes::INVALID_ENTRY, entry.action.span, message);
        }
    }

    /// When some entries have a priority, the first must have one; those without take steps from the one before.
    fn check_priority_order(&mut self, entries: &[ast::Entry], property: &ast::TableProperty, table: &Table) {
        let step = priority_delta(table);
        let largest_wins = largest_priority_wins(table);
        let Some(with) = entries.iter().find(|entry| entry.priority.is_some()) else {
            return;
        };
        if property.is_const {
            let message = "entries of a `const entries` list have no priorities: they are tried in order";
            self.error(codes::INVALID_PRIORITY, with.span, message);
            return;
        }
        if entries[0].priority.is_none() {
            let message = "when some entries have a priority, the first one must have one";
            self.error(codes::INVALID_PRIORITY, entries[0].span, message);
            return;
        }
        let mut current = BigInt::zero();
        let mut before: Option<(BigInt, Span)> = None;
        let mut seen = HashMap::new();
        for (entry, checked) in entries.iter().zip(&table.entries) {
            match checked.priority.as_ref().map(|priority| &priority.kind) {
                // A negative one was reported where it stands.
                Some(ExprKind::Int(value)) if value.is_negative() => return,
                Some(ExprKind::Int(value)) => current = value.clone(),
                Some(_) => return,
                None if largest_wins => current -= &step,
                None => current += &step,
            }
            if current.is_negative() {
                let message = format!("this entry would get the priority {current}");
                self.error(codes::INVALID_PRIORITY, entry.span, message);
                return;
            }
            if let Some(earlier) = seen.insert(current.clone(), entry.span) {
                let message = format!("another entry has the priority {current} too: which one wins is not defined");
                let warning = Diagnostic::warning(codes::DOUBTFUL_PRIORITY, entry.span, message);
                self.report(warning.secondary(earlier, "the other entry"));
            } else if let Some((earlier, place)) = before.filter(|(earlier, _)| {
                if largest_wins {
                    *earlier < current
                } else {
                    *earlier > current
                }
            }) {
                let message =
                    format!("this entry goes before the one above it: its priority is {current}, that one's {earlier}");
                let warning = Diagnostic::warning(codes::DOUBTFUL_PRIORITY, entry.span, message);
                self.report(warning.secondary(place, "the entry above"));
            }
            before = Some((current.clone(), entry.span));
        }
    }

    /// `priority_delta` is a positive number, `largest_priority_wins` true or false, whether there are entries or not.
    pub(super) fn check_priority_properties(&mut self, table: &Table) {
        for property in &table.properties {
            let message = match (property.name.as_str(), &property.value.kind) {
                (_, ExprKind::Invalid) => continue,
                ("priority_delta", ExprKind::Int(value)) if value.is_positive() => continue,
                ("priority_delta", _) => "`priority_delta` must be a positive number",
                ("largest_priority_wins", ExprKind::Bool(_)) => continue,
                ("largest_priority_wins", _) => "`largest_priority_wins` must be true or false",
                _ => continue,
            };
            self.error(codes::INVALID_PRIORITY, property.value.span, message);
        }
    }

    /// Two entries of a table with exact keys only must differ; elsewhere one of two with the same key is never hit.
    fn check_duplicate_entries(&mut self, table: &Table) {
        let is_exact = table.keys.iter().all(|key| key.match_kind == "exact");
        let mut seen = HashMap::new();
        let mut repeated = Vec::new();
        for entry in &table.entries {
            forebay_budget::check();
            if let Some(values) = self.literal_keysets(&entry.keysets, table)
                && let Some(earlier) = seen.insert(values, entry.span)
            {
                repeated.push((entry.span, earlier));
            }
        }
        for (span, earlier) in repeated {
            let message = "an earlier entry has the same key";
            let diagnostic = if is_exact {
                Diagnostic::error(codes::INVALID_ENTRY, span, message)
            } else {
                let message = format!("{message}: only one of the two can be hit");
                Diagnostic::warning(codes::REPEATED_KEY, span, message)
            };
            self.report(diagnostic.secondary(earlier, "the earlier entry"));
        }
    }

    /// The keysets of an entry as texts, equal ones for equal sets of values; none when one is not literal.
    fn literal_keysets(&self, keysets: &[KeySet], table: &Table) -> Option<Vec<String>> {
        let pairs = keysets.iter().zip(&table.keys);
        pairs
            .map(|(keyset, key)| literal_text(keyset, self.program.underlying(&key.expr.ty).width()))
            .collect()
    }

    fn check_priority(&mut self, priority: &ast::Expr, allowed: bool) -> Expr {
        if !allowed {
            let message = "entries of a table whose keys are exact or lpm have no priorities";
            self.error(codes::INVALID_PRIORITY, priority.span, message);
        }
        let value = self.check_value(priority);
        let value = self.number_of(value);
        match &value.kind {
            ExprKind::Int(number) if number.is_negative() => {
                self.error(codes::INVALID_PRIORITY, priority.span, "a priority cannot be negative");
            }
            ExprKind::Int(number) if number.bits() > 31 => {
                self.error(codes::INVALID_PRIORITY, priority.span, "the priority is too large");
            }
            ExprKind::Int(_) | ExprKind::Invalid => {}
            _ => self.error(
                codes::INVALID_PRIORITY,
                priority.span,
                "a priority must be a compile-time constant",
            ),
        }
        value
    }

    /// Keysets must be constants, and masks of lpm keys prefixes. Other masks and ranges stand for as many entries as
    /// they take (§14.2.1.4).
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

/// A literal keyset as text; none for others. A value, the range of it alone and its mask of ones have the same text.
fn literal_text(keyset: &KeySet, width: Option<u32>) -> Option<String> {
    match keyset {
        KeySet::Any => Some("_".to_string()),
        KeySet::Value(value) => literal_value(value),
        KeySet::Mask(value, mask) => {
            let (value, mask) = (integer(value)?, integer(mask)?);
            let mask = crate::fold::low_bits(mask, width?);
            let value = crate::fold::low_bits(value, width?) & &mask;
            Some(match mask {
                mask if mask.is_zero() => "_".to_string(),
                mask if mask == crate::fold::mask(width?) => value.to_string(),
                mask => format!("{value} &&& {mask}"),
            })
        }
        KeySet::Range(low, high) => {
            let (low, high) = (integer(low)?, integer(high)?);
            Some(if low == high {
                low.to_string()
            } else {
                format!("{low} .. {high}")
            })
        }
        KeySet::ValueSet(_) => None,
    }
}

fn literal_value(value: &Expr) -> Option<String> {
    match &value.kind {
        ExprKind::Int(number) => Some(number.to_string()),
        ExprKind::Bool(value) => Some(value.to_string()),
        ExprKind::EnumMember(id, index) => Some(format!("{}.{index}", id.0)),
        ExprKind::Error(index) => Some(format!("error.{index}")),
        _ => None,
    }
}

fn integer(value: &Expr) -> Option<&BigInt> {
    match &value.kind {
        ExprKind::Int(number) => Some(number),
        _ => None,
    }
}

/// Whether the mask is ones followed by zeros.
fn is_prefix(mask: &BigInt, width: u32) -> bool {
    let ones = crate::fold::mask(width);
    let rest = &ones - crate::fold::low_bits(mask, width);
    (&rest & (&rest + BigInt::one())).is_zero()
}

/// What the priorities of entries that have none differ by: 1, unless `priority_delta` says it.
fn priority_delta(table: &Table) -> BigInt {
    match property_of(table, "priority_delta").map(|property| &property.value.kind) {
        Some(ExprKind::Int(value)) if value.is_positive() => value.clone(),
        _ => BigInt::one(),
    }
}

fn largest_priority_wins(table: &Table) -> bool {
    let property = property_of(table, "largest_priority_wins");
    !matches!(
        property.map(|property| &property.value.kind),
        Some(ExprKind::Bool(false))
    )
}

fn property_of<'a>(table: &'a Table, name: &str) -> Option<&'a TableProperty> {
    table.properties.iter().find(|property| property.name == name)
}
