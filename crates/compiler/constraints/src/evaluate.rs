//! Whether a condition holds for an entry.

use crate::check::{Condition, Operand, modulo, part_name};
use crate::parse::Comparison;
use crate::{Key, Kind, Part};
use forebay_bits::Bits;
use forebay_ir::EntryMatch;
use num_bigint::{BigInt, Sign};
use std::fmt;

/// A number or a string.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// A number.
    Number(BigInt),
    /// A string, which need not be UTF-8.
    Text(Vec<u8>),
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) if *number < BigInt::from(10) => write!(formatter, "{number}"),
            Value::Number(number) => write!(formatter, "{number:#x}"),
            Value::Text(text) => write!(formatter, "'{}'", String::from_utf8_lossy(text)),
        }
    }
}

/// What a constraint is evaluated for: a table entry, or the data of an action.
pub trait Entry {
    /// A part of the key with this index. Called only for parts that the key's kind has.
    fn part(&self, key: usize, part: Part) -> Value;

    /// The priority; 0 for tables without priorities, and for actions.
    fn priority(&self) -> i64;
}

/// An entry as the program has it, when controllers see the same values as the data plane.
#[derive(Clone, Copy, Debug)]
pub struct IrEntry<'a> {
    /// One for each key.
    pub matches: &'a [EntryMatch],
    /// The priority.
    pub priority: i64,
}

impl Entry for IrEntry<'_> {
    fn part(&self, key: usize, part: Part) -> Value {
        let condition = &self.matches[key];
        Value::Number(IrEntry::part_of(condition, part, width_of(condition)))
    }

    fn priority(&self) -> i64 {
        self.priority
    }
}

impl IrEntry<'_> {
    /// A part of a match whose mask has `width` bits, as a number.
    pub fn part_of(condition: &EntryMatch, part: Part, width: u32) -> BigInt {
        let number = |bits: &Bits| BigInt::from(bits.to_biguint());
        let ones = || number(&Bits::ones(width));
        match (condition, part) {
            (EntryMatch::Lpm { prefix_length, .. }, Part::PrefixLength) => (*prefix_length).into(),
            (EntryMatch::Ternary { mask, .. }, Part::Mask) => number(mask),
            (EntryMatch::Range { low, .. }, Part::Low) => number(low),
            (EntryMatch::Range { high, .. }, Part::High) => number(high),
            (EntryMatch::Optional(Some(_)), Part::Mask) => ones(),
            (EntryMatch::Optional(None), _) => BigInt::ZERO,
            (EntryMatch::Exact(value) | EntryMatch::Optional(Some(value)), _)
            | (EntryMatch::Lpm { value, .. } | EntryMatch::Ternary { value, .. }, _)
            | (EntryMatch::Range { low: value, .. }, _) => number(value),
        }
    }
}

fn width_of(condition: &EntryMatch) -> u32 {
    match condition {
        EntryMatch::Exact(value)
        | EntryMatch::Lpm { value, .. }
        | EntryMatch::Ternary { value, .. }
        | EntryMatch::Range { low: value, .. }
        | EntryMatch::Optional(Some(value)) => value.width(),
        EntryMatch::Optional(None) => 0,
    }
}

/// A part of a constraint that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The part as it is written, on one line.
    pub part: String,
    /// What it saw: `hdr.ipv4.dst::mask` and the like, with their values.
    pub seen: Vec<(String, Value)>,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` does not hold", self.part)?;
        let seen: Vec<String> = self
            .seen
            .iter()
            .map(|(name, value)| format!("`{name}` is {value}"))
            .collect();
        if seen.is_empty() {
            Ok(())
        } else {
            write!(formatter, ": {}", seen.join(", "))
        }
    }
}

impl Condition {
    pub(crate) fn holds(&self, entry: &dyn Entry) -> bool {
        match self {
            Condition::Constant(value) => *value,
            Condition::Not(inner) => !inner.holds(entry),
            Condition::All(parts) => parts.iter().all(|part| part.holds(entry)),
            Condition::Any(parts) => parts.iter().any(|part| part.holds(entry)),
            Condition::Implies(sides) => !sides[0].holds(entry) || sides[1].holds(entry),
            Condition::Same(sides) => sides[0].holds(entry) == sides[1].holds(entry),
            Condition::Compare(operator, left, right) => {
                let (left, right) = (left.value(entry), right.value(entry));
                match operator {
                    Comparison::Equal => left == right,
                    Comparison::NotEqual => left != right,
                    Comparison::Less => left < right,
                    Comparison::LessOrEqual => left <= right,
                    Comparison::Greater => left > right,
                    Comparison::GreaterOrEqual => left >= right,
                }
            }
        }
    }

    fn operands(&self) -> Vec<&Operand> {
        match self {
            Condition::Constant(_) => Vec::new(),
            Condition::Not(inner) => inner.operands(),
            Condition::All(parts) | Condition::Any(parts) => parts.iter().flat_map(Condition::operands).collect(),
            Condition::Implies(sides) | Condition::Same(sides) => sides.iter().flat_map(Condition::operands).collect(),
            Condition::Compare(_, left, right) => vec![left.innermost(), right.innermost()],
        }
    }
}

impl Operand {
    fn value(&self, entry: &dyn Entry) -> Value {
        let changed = |inner: &Operand, change: &dyn Fn(BigInt) -> BigInt| match inner.value(entry) {
            Value::Number(number) => Value::Number(change(number)),
            text => text,
        };
        match self {
            Operand::Constant(value) => value.clone(),
            Operand::Part(key, part) => entry.part(*key, *part),
            Operand::Priority => Value::Number(entry.priority().into()),
            Operand::Minus(inner) => changed(inner, &|number| -number),
            Operand::Truncated(inner, width) => changed(inner, &|number| modulo(&number, *width)),
            Operand::Bytes(inner) => match inner.value(entry) {
                Value::Text(text) => Value::Number(BigInt::from_bytes_be(Sign::Plus, &text)),
                number => number,
            },
        }
    }

    fn innermost(&self) -> &Operand {
        match self {
            Operand::Minus(inner) | Operand::Truncated(inner, _) | Operand::Bytes(inner) => inner.innermost(),
            other => other,
        }
    }
}

/// The keys that a condition reads, each once, with their values.
pub(crate) fn seen(condition: &Condition, keys: &[Key], entry: &dyn Entry) -> Vec<(String, Value)> {
    let mut seen: Vec<(String, Value)> = Vec::new();
    for operand in condition.operands() {
        let name = match operand {
            Operand::Part(key, _) if keys[*key].kind == Kind::Exact => keys[*key].name.clone(),
            Operand::Part(key, part) => format!("{}::{}", keys[*key].name, part_name(*part)),
            Operand::Priority => "::priority".to_string(),
            _ => continue,
        };
        if !seen.iter().any(|(earlier, _)| *earlier == name) {
            seen.push((name, operand.value(entry)));
        }
    }
    seen
}
