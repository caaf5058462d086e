//! Rules of a table, and for each an address that this rule alone matches.
//!
//! | kind | rule `i` |
//! |---|---|
//! | exact | an address; they follow one another from 10.0.0.0 |
//! | LPM | fifteen of sixteen are /24 prefixes from 1.0.0.0 on, the sixteenth is a /32 within the one before it |
//! | ternary | one of eight masks, each without eight neighbouring bits; the first three bits say which |
//! | range | from `64 i` after 10.0.0.0, 1 to 64 addresses |

use forebay_bits::Bits;
use forebay_ir::EntryMatch;
use serde::{Deserialize, Serialize};

/// The kind of a table's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Kind {
    Exact,
    Lpm,
    Ternary,
    Range,
}

impl Kind {
    /// As P4 names it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Exact => "exact",
            Kind::Lpm => "lpm",
            Kind::Ternary => "ternary",
            Kind::Range => "range",
        }
    }

    /// How many different rules there are.
    pub fn rules_max(self) -> u32 {
        match self {
            Kind::Exact => 1 << 30,
            Kind::Lpm => 12 << 20,
            Kind::Ternary => 1 << 24,
            Kind::Range => 1 << 24,
        }
    }
}

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What it matches.
    pub key: EntryMatch,
    /// The larger wins.
    pub priority: i64,
    /// An address that no other rule matches, or none that wins against this one.
    pub address: u32,
}

/// Where addresses begin.
const FIRST: u32 = 0x0a00_0000;

/// Where prefixes begin.
const FIRST_PREFIX: u32 = 0x0100_0000;

/// Rules after which the pattern of prefixes repeats, the last of which is a /32.
const PREFIXES: u32 = 16;

/// Addresses between the beginnings of ranges.
const RANGE_STEP: u32 = 64;

/// Bits that a ternary rule leaves out, and the bits below those that say which.
const WILD_BITS: u32 = 8;
const SHAPE_SHIFT: u32 = 29;

/// The rule with this number, below [`Kind::rules_max`].
pub fn rule(kind: Kind, index: u32) -> Rule {
    match kind {
        Kind::Exact => exact(index),
        Kind::Lpm => prefix(index),
        Kind::Ternary => ternary(index),
        Kind::Range => range(index),
    }
}

/// The first rules of a kind as JSON, a line each: what other switches are filled with. `low` and `high` are the ends
/// of a range.
///
/// # Errors
/// If there is no such kind, or the kind has fewer than `count` rules.
pub fn lines(kind: &str, count: u32) -> Result<String, String> {
    let all = [Kind::Exact, Kind::Lpm, Kind::Ternary, Kind::Range];
    let kind = all.into_iter().find(|own| own.name() == kind);
    let kind = kind.ok_or("a kind is exact, lpm, ternary or range")?;
    if count > kind.rules_max() {
        return Err(format!("there are {} rules of kind {}", kind.rules_max(), kind.name()));
    }
    let line = |index| {
        let Rule { key, priority, address } = rule(kind, index);
        let (value, other) = match key {
            EntryMatch::Exact(value) | EntryMatch::Optional(Some(value)) => (value, format!("\"mask\": {}", u32::MAX)),
            EntryMatch::Lpm { value, prefix_length } => (value, format!("\"mask\": {}", mask(prefix_length))),
            EntryMatch::Ternary { value, mask } => (value, format!("\"mask\": {}", mask.to_u64())),
            EntryMatch::Range { low, high } => (low, format!("\"high\": {}", high.to_u64())),
            EntryMatch::Optional(None) => (bits(0), "\"mask\": 0".to_string()),
        };
        let value = value.to_u64();
        format!("{{\"value\": {value}, {other}, \"priority\": {priority}, \"address\": {address}}}\n")
    };
    Ok((0..count).map(line).collect())
}

fn mask(prefix_length: u32) -> u32 {
    u32::MAX.checked_shl(32 - prefix_length).unwrap_or(0)
}

fn exact(index: u32) -> Rule {
    let address = FIRST + index;
    Rule {
        key: EntryMatch::Exact(bits(address)),
        priority: 0,
        address,
    }
}

fn prefix(index: u32) -> Rule {
    let (group, place) = (index / PREFIXES, index % PREFIXES);
    let network = |place| FIRST_PREFIX + ((group * (PREFIXES - 1) + place) << 8);
    let (value, prefix_length, address) = match place {
        15 => (network(14) | 0xff, 32, network(14) | 0xff),
        _ => (network(place), 24, network(place) + spread(index) % 255),
    };
    Rule {
        key: EntryMatch::Lpm {
            value: bits(value),
            prefix_length,
        },
        priority: 0,
        address,
    }
}

fn ternary(index: u32) -> Rule {
    let (shape, body) = (index % 8, index / 8);
    let wild_from = 3 * shape;
    let low = body & ((1 << wild_from) - 1);
    let value = shape << SHAPE_SHIFT | (body >> wild_from) << (wild_from + WILD_BITS) | low;
    let wild = ((1 << WILD_BITS) - 1) << wild_from;
    Rule {
        key: EntryMatch::Ternary {
            value: bits(value),
            mask: bits(!wild),
        },
        priority: 1 + i64::from(index),
        address: value | spread(index) << wild_from & wild,
    }
}

fn range(index: u32) -> Rule {
    let low = FIRST + index * RANGE_STEP;
    let width = index.wrapping_mul(37) % RANGE_STEP;
    Rule {
        key: EntryMatch::Range {
            low: bits(low),
            high: bits(low + width),
        },
        priority: 1 + i64::from(index),
        address: low + spread(index) % (width + 1),
    }
}

fn bits(value: u32) -> Bits {
    Bits::new(32, value.into())
}

/// Numbers that follow one another far apart (Knuth's multiplicative hash).
fn spread(index: u32) -> u32 {
    index.wrapping_mul(2_654_435_761) >> 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn matches(rule: &Rule, address: u32) -> bool {
        match &rule.key {
            EntryMatch::Exact(value) => *value == bits(address),
            EntryMatch::Lpm { value, prefix_length } => {
                let mask = u32::MAX << (32 - prefix_length);
                *value == bits(address & mask)
            }
            EntryMatch::Ternary { value, mask } => *value == bits(address & mask.to_u64() as u32),
            EntryMatch::Range { low, high } => (low.to_u64()..=high.to_u64()).contains(&address.into()),
            EntryMatch::Optional(_) => false,
        }
    }

    #[test]
    fn each_address_is_matched_by_its_own_rule_alone() {
        for kind in [Kind::Exact, Kind::Ternary, Kind::Range] {
            let rules: Vec<Rule> = (0..600).map(|index| rule(kind, index)).collect();
            for (index, own) in rules.iter().enumerate() {
                let hits: Vec<usize> = (0..rules.len())
                    .filter(|at| matches(&rules[*at], own.address))
                    .collect();
                assert_eq!(hits, [index], "{kind:?}");
            }
        }
    }

    #[test]
    fn the_longest_prefix_of_an_address_is_its_own() {
        let rules: Vec<Rule> = (0..600).map(|index| rule(Kind::Lpm, index)).collect();
        let length = |rule: &Rule| match rule.key {
            EntryMatch::Lpm { prefix_length, .. } => prefix_length,
            _ => 0,
        };
        for (index, own) in rules.iter().enumerate() {
            let hits = (0..rules.len()).filter(|at| matches(&rules[*at], own.address));
            assert_eq!(hits.max_by_key(|at| length(&rules[*at])), Some(index));
        }
    }

    #[test]
    fn other_switches_get_the_same_rules() {
        let lines = lines("lpm", 16).expect("rules");
        let last: serde_json::Value = serde_json::from_str(lines.lines().last().expect("a line")).expect("JSON");
        assert_eq!((&last["value"], &last["mask"]), (&last["address"], &u32::MAX.into()));
        assert!(super::lines("hash", 1).is_err());
    }

    #[test]
    fn rules_differ_up_to_the_last() {
        for kind in [Kind::Exact, Kind::Lpm, Kind::Ternary, Kind::Range] {
            let ends = (0..1000).chain(kind.rules_max() - 1000..kind.rules_max());
            let keys: HashSet<String> = ends.map(|index| format!("{:?}", rule(kind, index).key)).collect();
            assert_eq!(keys.len(), 2000, "{kind:?}");
        }
    }
}
