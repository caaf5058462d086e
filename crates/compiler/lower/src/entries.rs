//! Entries in the program (§14.2.1.4).
//!
//! Priorities of the IR are those of P4Runtime: positive, and the larger wins. Programs may count in the other
//! direction (`largest_priority_wins = false`, or the older annotation `@priority`), or leave priorities to the order
//! of the entries, in which the first wins.

mod parts;

use crate::context::Context;
use crate::expression;
use crate::table;
use crate::types;
use crate::value::Value;
use forebay_bits::Bits;
use forebay_check::{annotations, hir};
use forebay_ir::{self as ir, EntryMatch, Expr, MatchKind};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use num_traits::ToPrimitive;
use std::collections::HashSet;

/// How many entries of a table one entry of the program may stand for.
const PARTS_MAX: usize = 1024;

/// Lowers a table's entries. With each comes the place of the entry of the program that stands for it.
pub fn lower(
    cx: &mut Context,
    table: &hir::Table,
    keys: &[ir::TableKey],
    actions: &[ir::TableAction],
) -> Vec<(ir::TableEntry, Span)> {
    let priorities = priorities(cx, table, keys);
    let mut entries = Vec::new();
    let mut seen = HashSet::new();
    for (entry, priority) in table.entries.iter().zip(priorities) {
        forebay_budget::check();
        let args = table::action_data(cx, actions, entry.action, &entry.args);
        for matches in combined_matches(cx, table, keys, entry) {
            // The first one with a key and priority goes before others, which a table does not take.
            if !seen.insert((priority, matches.clone())) {
                continue;
            }
            let lowered = ir::TableEntry {
                matches,
                priority,
                action: ir::ActionCall {
                    action: entry.action as u32,
                    args: args.clone(),
                },
                is_const: entry.is_const || table.entries_are_const,
                location: cx.locate(entry.span),
            };
            entries.push((lowered, entry.span));
        }
    }
    entries
}

/// The matches of each entry that an entry of the program stands for (§14.2.1.4): all combinations of what its keysets
/// are made of.
fn combined_matches(
    cx: &mut Context,
    table: &hir::Table,
    keys: &[ir::TableKey],
    entry: &hir::TableEntry,
) -> Vec<Vec<EntryMatch>> {
    let mut combined: Vec<Vec<EntryMatch>> = vec![Vec::new()];
    for ((key, declared), keyset) in keys.iter().zip(&table.keys).zip(&entry.keysets) {
        if key.match_kind == MatchKind::Selector {
            continue;
        }
        let signed = types::is_signed(cx, &declared.expr.ty);
        let mut parts = lower_parts(cx, key, signed, keyset, entry.span);
        if combined.len().saturating_mul(parts.len()) > PARTS_MAX {
            too_many(cx, entry.span);
            parts.truncate(1);
        }
        let with_part = |matches: &Vec<EntryMatch>| {
            let parts = parts
                .iter()
                .map(|part| [matches.as_slice(), std::slice::from_ref(part)].concat());
            parts.collect::<Vec<_>>()
        };
        combined = combined.iter().flat_map(with_part).collect();
    }
    combined
}

fn too_many(cx: &mut Context, span: Span) {
    if !cx.aborted {
        let message = format!("this entry stands for more than {PARTS_MAX} entries of the table");
        cx.error(codes::INVALID_ENTRY, span, message);
    }
}

/// What a key matches of a keyset, of which some kinds of keys need several: numbers, prefixes or ranges.
fn lower_parts(
    cx: &mut Context,
    key: &ir::TableKey,
    signed: bool,
    keyset: &hir::KeySet,
    span: Span,
) -> Vec<EntryMatch> {
    let width = key.width;
    let parts = match (key.match_kind, keyset) {
        (MatchKind::Exact, hir::KeySet::Any) => parts::numbers(&[parts::whole(width)], PARTS_MAX),
        (MatchKind::Exact, hir::KeySet::Range(low, high)) => {
            parts::numbers(&parts::ranges(&constants(cx, low, high, width), signed), PARTS_MAX)
        }
        (MatchKind::Exact, hir::KeySet::Mask(value, mask)) => {
            let ranges = parts::ranges_of_mask(&constants(cx, value, mask, width), PARTS_MAX);
            ranges.and_then(|ranges| parts::numbers(&ranges, PARTS_MAX))
        }
        (MatchKind::Lpm, hir::KeySet::Range(low, high)) => {
            let ranges = parts::ranges(&constants(cx, low, high, width), signed);
            let lpm = |(value, prefix_length)| EntryMatch::Lpm { value, prefix_length };
            Some(ranges.iter().flat_map(parts::prefixes).map(lpm).collect())
        }
        (MatchKind::Ternary, hir::KeySet::Range(low, high)) => {
            let ranges = parts::ranges(&constants(cx, low, high, width), signed);
            let ternary = |(value, length)| EntryMatch::Ternary {
                value,
                mask: parts::leading_ones(width, length),
            };
            Some(ranges.iter().flat_map(parts::prefixes).map(ternary).collect())
        }
        (MatchKind::Range, hir::KeySet::Range(low, high)) => {
            let ranges = parts::ranges(&constants(cx, low, high, width), signed);
            Some(ranges.iter().map(parts::Range::as_match).collect())
        }
        (MatchKind::Range, hir::KeySet::Mask(value, mask)) => {
            let ranges = parts::ranges_of_mask(&constants(cx, value, mask, width), PARTS_MAX);
            ranges.map(|ranges| ranges.iter().map(|range| range.as_match()).collect())
        }
        _ => return vec![lower_match(cx, key, keyset, span)],
    };
    match parts {
        Some(parts) if !parts.is_empty() => return parts,
        Some(_) => empty_range(cx, keyset, span),
        None => too_many(cx, span),
    }
    vec![match key.match_kind {
        MatchKind::Exact => EntryMatch::Exact(Bits::zero(width)),
        _ => lower_match(cx, key, &hir::KeySet::Any, span),
    }]
}

fn empty_range(cx: &mut Context, keyset: &hir::KeySet, entry: Span) {
    let span = match keyset {
        hir::KeySet::Range(low, _) => low.span,
        _ => entry,
    };
    if !cx.aborted {
        let message = "this range is empty: its low end is above its high end";
        cx.error(codes::INVALID_ENTRY, span, message);
    }
}

fn constants(cx: &mut Context, left: &hir::Expr, right: &hir::Expr, width: u32) -> (Bits, Bits) {
    (table::constant(cx, left, width), table::constant(cx, right, width))
}

/// A priority for each entry, where the larger wins; zeros for tables in which the matches decide.
fn priorities(cx: &mut Context, table: &hir::Table, keys: &[ir::TableKey]) -> Vec<i64> {
    let count = table.entries.len();
    let decides = |key: &ir::TableKey| {
        matches!(
            key.match_kind,
            MatchKind::Ternary | MatchKind::Range | MatchKind::Optional
        )
    };
    if !keys.iter().any(decides) {
        return vec![0; count];
    }
    if table
        .entries
        .iter()
        .any(|entry| annotations::has(&entry.annotations, "priority"))
    {
        return reversed(annotated_priorities(table));
    }
    let largest_wins = property(cx, table, "largest_priority_wins") != Some(Value::boolean(false));
    let delta = match property(cx, table, "priority_delta") {
        Some(Value::Scalar(Expr::Const(bits))) => bits.to_u64_saturating().min(u64::from(u32::MAX)) as i64,
        Some(Value::Integer(number)) => number.to_i64().unwrap_or(1),
        _ => 1,
    };
    let written = table.entries.iter().any(|entry| entry.priority.is_some());
    let values = if written {
        written_priorities(cx, table, largest_wins, delta)
    } else {
        let rank = |index| if largest_wins { count as i64 - 1 - index } else { index };
        (0..count as i64).map(|index| 1 + delta * rank(index)).collect()
    };
    if largest_wins { values } else { reversed(values) }
}

/// `@priority(n)`, or the position in the list; the smaller wins.
fn annotated_priorities(table: &hir::Table) -> Vec<i64> {
    let entries = table.entries.iter().enumerate();
    let priority = |(index, entry): (usize, &hir::TableEntry)| {
        let written = annotations::int_arg(&entry.annotations, "priority").and_then(|number| number.to_i64());
        written.unwrap_or(index as i64 + 1)
    };
    entries.map(priority).collect()
}

/// `priority = n`, or a fixed distance from the previous entry.
fn written_priorities(cx: &mut Context, table: &hir::Table, largest_wins: bool, delta: i64) -> Vec<i64> {
    let mut values = Vec::new();
    let mut last = 1;
    for entry in &table.entries {
        let step = if largest_wins { -delta } else { delta };
        last = match &entry.priority {
            Some(priority) => match expression::expression(cx, priority) {
                Value::Integer(number) => number.to_i64().unwrap_or(i64::from(i32::MAX)),
                Value::Scalar(Expr::Const(bits)) => bits.to_u64_saturating().min(i32::MAX as u64) as i64,
                _ => last + step,
            },
            None if values.is_empty() => last,
            None => last + step,
        };
        values.push(last);
    }
    values
}

/// Positive priorities in the opposite order.
fn reversed(values: Vec<i64>) -> Vec<i64> {
    let largest = values.iter().copied().max().unwrap_or(0);
    values
        .into_iter()
        .map(|value| largest.saturating_sub(value).saturating_add(1))
        .collect()
}

fn property(cx: &mut Context, table: &hir::Table, name: &str) -> Option<Value> {
    let property = table.properties.iter().find(|property| property.name == name)?;
    Some(expression::expression(cx, &property.value))
}

fn lower_match(cx: &mut Context, key: &ir::TableKey, keyset: &hir::KeySet, span: Span) -> EntryMatch {
    let width = key.width;
    let ones = Bits::ones(width);
    match key.match_kind {
        MatchKind::Exact | MatchKind::Selector => match keyset {
            hir::KeySet::Value(value) => EntryMatch::Exact(table::constant(cx, value, width)),
            hir::KeySet::Mask(value, mask) if table::constant(cx, mask, width) == ones => {
                EntryMatch::Exact(table::constant(cx, value, width))
            }
            _ => invalid(cx, key, keyset, span, "one value", EntryMatch::Exact(Bits::zero(width))),
        },
        MatchKind::Lpm => match masked(cx, keyset, width) {
            Some((value, mask)) => match prefix_length(&mask) {
                Some(prefix_length) => EntryMatch::Lpm { value, prefix_length },
                None => {
                    let fallback = EntryMatch::Lpm {
                        value,
                        prefix_length: 0,
                    };
                    invalid(cx, key, keyset, span, "a mask of ones followed by zeros", fallback)
                }
            },
            None => {
                let fallback = EntryMatch::Lpm {
                    value: Bits::zero(width),
                    prefix_length: 0,
                };
                invalid(cx, key, keyset, span, "a value or a prefix", fallback)
            }
        },
        MatchKind::Ternary => match masked(cx, keyset, width) {
            Some((value, mask)) => EntryMatch::Ternary { value, mask },
            None => {
                let fallback = EntryMatch::Ternary {
                    value: Bits::zero(width),
                    mask: Bits::zero(width),
                };
                invalid(cx, key, keyset, span, "a value or a mask", fallback)
            }
        },
        MatchKind::Range => match keyset {
            hir::KeySet::Value(value) => {
                let value = table::constant(cx, value, width);
                EntryMatch::Range {
                    low: value.clone(),
                    high: value,
                }
            }
            hir::KeySet::Any => EntryMatch::Range {
                low: Bits::zero(width),
                high: ones,
            },
            _ => invalid(
                cx,
                key,
                keyset,
                span,
                "a range",
                EntryMatch::Range {
                    low: Bits::zero(width),
                    high: ones,
                },
            ),
        },
        MatchKind::Optional => match keyset {
            hir::KeySet::Any => EntryMatch::Optional(None),
            hir::KeySet::Value(value) => EntryMatch::Optional(Some(table::constant(cx, value, width))),
            _ => invalid(cx, key, keyset, span, "a value or `_`", EntryMatch::Optional(None)),
        },
    }
}

/// A keyset as value and mask, where the value is zero wherever the mask is; `None` for a range.
fn masked(cx: &mut Context, keyset: &hir::KeySet, width: u32) -> Option<(Bits, Bits)> {
    match keyset {
        hir::KeySet::Any => Some((Bits::zero(width), Bits::zero(width))),
        hir::KeySet::Value(value) => Some((table::constant(cx, value, width), Bits::ones(width))),
        hir::KeySet::Mask(value, mask) => {
            let mask = table::constant(cx, mask, width);
            Some((table::constant(cx, value, width).and(&mask), mask))
        }
        hir::KeySet::Range(..) | hir::KeySet::ValueSet(_) => None,
    }
}

/// The number of leading ones, if only zeros follow them.
fn prefix_length(mask: &Bits) -> Option<u32> {
    let width = mask.width();
    let length = (0..width).rev().take_while(|bit| mask.bit(*bit)).count() as u32;
    let rest_is_zero = (0..width - length).all(|bit| !mask.bit(bit));
    rest_is_zero.then_some(length)
}

fn invalid(
    cx: &mut Context,
    key: &ir::TableKey,
    keyset: &hir::KeySet,
    entry: Span,
    expected: &str,
    fallback: EntryMatch,
) -> EntryMatch {
    if cx.aborted {
        return fallback;
    }
    let (span, hint) = match keyset {
        hir::KeySet::Mask(_, mask) => (mask.span, Some("use a key of match kind ternary for masks")),
        hir::KeySet::Range(low, _) => (low.span, Some("use a key of match kind range for ranges")),
        hir::KeySet::Any | hir::KeySet::Value(_) | hir::KeySet::ValueSet(_) => (entry, None),
    };
    let message = format!("the key `{}` needs {expected} here", key.name);
    let diagnostic = Diagnostic::error(codes::INVALID_ENTRY, span, message);
    cx.diagnostics.push(match hint {
        Some(hint) => diagnostic.hint(hint),
        None => diagnostic,
    });
    fallback
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_recognised() {
        assert_eq!(prefix_length(&Bits::new(8, 0xF0)), Some(4));
        assert_eq!(prefix_length(&Bits::new(8, 0)), Some(0));
        assert_eq!(prefix_length(&Bits::ones(8)), Some(8));
        assert_eq!(prefix_length(&Bits::new(8, 0x0F)), None);
    }

    #[test]
    fn reversing_keeps_priorities_positive() {
        assert_eq!(reversed(vec![1, 5, 3]), vec![5, 1, 3]);
    }
}
