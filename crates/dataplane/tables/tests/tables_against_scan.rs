//! Every engine against a table that scans all its entries, through random writes and lookups.

use forebay_bits::Bits;
use forebay_tables::{
    ActionCall, ActionId, ActionRef, ActionScope, ActionSpec, EntryAction, EntryId, Implementation, KeyMatch, KeySpec,
    MatchKind, NewEntry, Table, TableError, TableSpec,
};
use proptest::prelude::*;

/// Small enough that tables fill up.
const SMALL: usize = 12;
/// Large enough that masks become popular and engines choose other structures.
const LARGE: usize = 400;
const ACTION: ActionId = ActionId(7);

/// The condition of an entry on one field, as a mask or a pair of bounds on small numbers.
///
/// Field values are `number * scale`, where the scale moves four bits to the top of the field: engines see wide
/// values, but the oracle works with small numbers.
#[derive(Clone, Debug, PartialEq)]
enum Condition {
    Masked { value: u64, mask: u64 },
    Between { lo: u64, hi: u64 },
}

impl Condition {
    fn holds(&self, field: u64) -> bool {
        match *self {
            Condition::Masked { value, mask } => field & mask == value & mask,
            Condition::Between { lo, hi } => lo <= field && field <= hi,
        }
    }
}

/// An entry of the oracle.
#[derive(Clone, Debug)]
struct Scanned {
    id: EntryId,
    key: Vec<Condition>,
    priority: i32,
    argument: u64,
}

/// The table that scans.
struct Oracle {
    kinds: Vec<MatchKind>,
    size: usize,
    entries: Vec<Scanned>,
}

impl Oracle {
    fn has_priorities(&self) -> bool {
        let inexact: Vec<_> = self.kinds.iter().filter(|kind| **kind != MatchKind::Exact).collect();
        !matches!(inexact.as_slice(), [] | [MatchKind::Lpm])
    }

    fn named(&self, key: &[Condition], priority: i32) -> Option<&Scanned> {
        self.entries
            .iter()
            .find(|entry| entry.key == key && entry.priority == priority)
    }

    /// Among the entries that match: largest priority, then longest prefix, then oldest.
    fn lookup(&self, fields: &[u64]) -> Option<&Scanned> {
        let matching = self.entries.iter().filter(|entry| {
            let mut pairs = entry.key.iter().zip(fields);
            pairs.all(|(condition, field)| condition.holds(*field))
        });
        matching.min_by_key(|entry| {
            let prefix = if self.has_priorities() {
                0
            } else {
                specified_bits(&entry.key)
            };
            (-i64::from(entry.priority), -i64::from(prefix), entry.id)
        })
    }
}

fn specified_bits(key: &[Condition]) -> u32 {
    key.iter()
        .map(|condition| match condition {
            Condition::Masked { mask, .. } => mask.count_ones(),
            Condition::Between { .. } => 0,
        })
        .sum()
}

/// A four-bit number in the top bits of a field.
fn scaled(width: u32, number: u64) -> Bits {
    Bits::new(width, number.into()).shl(u64::from(width) - 4)
}

/// The condition for the control plane, and for the oracle.
fn condition(spec: KeySpec, value: u64, extra: u64) -> (KeyMatch, Condition) {
    let width = spec.width;
    let bits = |number| scaled(width, number);
    let masked = |value, mask| Condition::Masked {
        value: value & mask,
        mask,
    };
    match spec.kind {
        MatchKind::Exact => (KeyMatch::Exact(bits(value)), masked(value, 15)),
        MatchKind::Lpm => {
            let prefix_len = (extra % 5) as u32;
            let mask = 15 << (4 - prefix_len) & 15;
            let value_bits = bits(value);
            let key = KeyMatch::Lpm {
                value: value_bits,
                prefix_len,
            };
            (key, masked(value, mask))
        }
        MatchKind::Ternary => {
            let key = KeyMatch::Ternary {
                value: bits(value),
                mask: bits(extra),
            };
            (key, masked(value, extra))
        }
        MatchKind::Range => {
            let (lo, hi) = (value.min(extra), value.max(extra));
            let key = KeyMatch::Range {
                lo: bits(lo),
                hi: bits(hi),
            };
            (key, Condition::Between { lo, hi })
        }
        MatchKind::Optional if extra < 5 => (KeyMatch::DontCare, masked(0, 0)),
        MatchKind::Optional => (KeyMatch::Optional(Some(bits(value))), masked(value, 15)),
        MatchKind::Selector => unreachable!("selectors are not matched"),
    }
}

fn spec(keys: Vec<KeySpec>, size: usize) -> TableSpec {
    TableSpec {
        keys,
        size,
        actions: vec![ActionSpec::new(ACTION, vec![64], ActionScope::TableAndDefault)],
        default_action: call(u64::MAX),
        const_default: false,
        implementation: Implementation::Direct,
        memo: false,
        learns: false,
    }
}

fn call(argument: u64) -> ActionCall {
    ActionCall::new(ACTION, vec![Bits::new(64, argument.into())])
}

#[derive(Clone, Debug)]
enum Step {
    Insert {
        key: Vec<(u64, u64)>,
        priority: i32,
        argument: u64,
    },
    Modify {
        entry: prop::sample::Index,
        argument: u64,
    },
    Delete {
        entry: prop::sample::Index,
    },
    Lookup {
        fields: Vec<u64>,
    },
}

fn keys() -> impl Strategy<Value = Vec<KeySpec>> {
    let kind = prop_oneof![
        3 => Just(MatchKind::Exact),
        3 => Just(MatchKind::Lpm),
        1 => Just(MatchKind::Ternary),
        1 => Just(MatchKind::Range),
        1 => Just(MatchKind::Optional),
    ];
    let width = prop::sample::select(vec![4, 5, 32, 64, 65, 128, 129, 300]);
    let field = (kind, width).prop_map(|(kind, width)| KeySpec { width, kind });
    prop::collection::vec(field, 0..4)
}

/// Steps with conditions of any form or of a few forms. `inserts` of ten steps are insertions.
fn steps(fields: usize, extras: &'static [u64], inserts: u32, count: usize) -> impl Strategy<Value = Vec<Step>> {
    let number = || 0u64..16;
    let extra = prop::sample::select(extras);
    let key = prop::collection::vec((number(), extra), fields);
    let step = prop_oneof![
        inserts => (key, 0..4i32, any::<u64>()).prop_map(|(key, priority, argument)| Step::Insert {
            key,
            priority,
            argument
        }),
        1 => (any::<prop::sample::Index>(), any::<u64>())
            .prop_map(|(entry, argument)| Step::Modify { entry, argument }),
        1 => any::<prop::sample::Index>().prop_map(|entry| Step::Delete { entry }),
        4 => prop::collection::vec(number(), fields).prop_map(|fields| Step::Lookup { fields }),
    ];
    prop::collection::vec(step, 0..count)
}

fn insert(table: &mut Table, oracle: &mut Oracle, numbers: &[(u64, u64)], priority: i32, argument: u64) {
    let specs = table.spec().keys.clone();
    let (key, conditions): (Vec<_>, Vec<_>) = specs
        .iter()
        .zip(numbers)
        .map(|(spec, &(value, extra))| condition(*spec, value, extra))
        .unzip();
    let stored_priority = if oracle.has_priorities() { priority } else { 0 };
    let expected = oracle.named(&conditions, stored_priority).map(|e| e.id);
    let found = table.find(key.clone(), priority).map(|entry| entry.id());
    assert_eq!(found.ok(), expected);
    let new = NewEntry::new(key, priority, EntryAction::Call(call(argument)));
    match (table.insert(new), expected) {
        (Err(TableError::Duplicate(id)), Some(existing)) => assert_eq!(id, existing),
        (Err(TableError::TableFull { size }), None) => {
            assert_eq!((size, oracle.entries.len()), (oracle.size, oracle.size));
        }
        (Ok(id), None) => oracle.entries.push(Scanned {
            id,
            key: conditions,
            priority: stored_priority,
            argument,
        }),
        (result, expected) => panic!("inserting gave {result:?}, expected {expected:?}"),
    }
}

fn lookup(table: &Table, oracle: &Oracle, fields: &[u64]) {
    let specs = &table.spec().keys;
    let key: Vec<Bits> = specs
        .iter()
        .zip(fields)
        .map(|(spec, &number)| scaled(spec.width, number))
        .collect();
    let result = table.lookup(&key);
    let expected = if specs.is_empty() { None } else { oracle.lookup(fields) };
    assert_eq!(result.hit.map(|entry| entry.id()), expected.map(|entry| entry.id));
    let argument = expected.map_or(u64::MAX, |entry| entry.argument);
    assert_eq!(result.action, ActionRef::Call(&call(argument)));
}

fn apply(table: &mut Table, oracle: &mut Oracle, step: &Step) {
    match step {
        Step::Insert {
            key,
            priority,
            argument,
        } => insert(table, oracle, key, *priority, *argument),
        Step::Modify { entry, argument } if !oracle.entries.is_empty() => {
            let entry = entry.index(oracle.entries.len());
            let scanned = &mut oracle.entries[entry];
            scanned.argument = *argument;
            let slot = table.get(scanned.id).unwrap().slot();
            let action = EntryAction::Call(call(*argument));
            table.modify(scanned.id, action).unwrap();
            assert_eq!(table.get(scanned.id).unwrap().slot(), slot);
        }
        Step::Delete { entry } if !oracle.entries.is_empty() => {
            let entry = entry.index(oracle.entries.len());
            let id = oracle.entries.remove(entry).id;
            assert_eq!(table.delete(id).unwrap().id(), id);
            assert_eq!(table.delete(id).unwrap_err(), TableError::NotFound);
        }
        Step::Modify { .. } | Step::Delete { .. } => {}
        Step::Lookup { fields } => lookup(table, oracle, fields),
    }
}

fn run(keys: Vec<KeySpec>, steps: &[Step], size: usize) {
    let kinds = keys.iter().map(|key| key.kind).collect();
    let mut table = Table::new(spec(keys, size));
    let mut oracle = Oracle {
        kinds,
        size,
        entries: Vec::new(),
    };
    for (number, step) in steps.iter().enumerate() {
        let before = (number % 8 == 0).then(|| table.clone());
        let order: Vec<EntryId> = table.entries().map(|entry| entry.id()).collect();
        apply(&mut table, &mut oracle, step);
        // A clone does not see later writes, and can be written itself.
        if let Some(clone) = before {
            assert!(clone.entries().map(|entry| entry.id()).eq(order));
            if number % 16 == 0 {
                table = table.clone();
            }
        }
        let ids = oracle.entries.iter().map(|entry| entry.id);
        assert!(table.entries().map(|entry| entry.id()).eq(ids));
        assert_eq!(table.len(), oracle.entries.len());
        let mut slots: Vec<usize> = table.entries().map(|entry| entry.slot()).collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), table.len());
        assert!(slots.last().is_none_or(|&slot| slot < size));
    }
}

const ALL: &[u64] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn tables_do_what_a_scan_does(
        (keys, steps) in keys().prop_flat_map(|keys| {
            let fields = keys.len();
            (Just(keys), steps(fields, ALL, 3, 120))
        })
    ) {
        run(keys, &steps, SMALL);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn large_tables_do_what_a_scan_does(
        (keys, steps) in keys().prop_flat_map(|keys| {
            let fields = keys.len();
            (Just(keys), steps(fields, &[15, 12, 14], 8, 900))
        })
    ) {
        run(keys, &steps, LARGE);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Many ranges share mask and value, and many overlap.
    #[test]
    fn large_tables_of_ranges_do_what_a_scan_does(
        (keys, steps) in prop::sample::subsequence(vec![MatchKind::Exact, MatchKind::Range, MatchKind::Ternary], 1..3)
            .prop_flat_map(|kinds| {
                let field = |kind| prop::sample::select(vec![5, 32, 65]).prop_map(move |width| KeySpec { width, kind });
                [vec![MatchKind::Range], kinds].concat().into_iter().map(field).collect::<Vec<_>>()
            })
            .prop_flat_map(|keys| {
                let fields = keys.len();
                (Just(keys), steps(fields, ALL, 8, 900))
            })
    ) {
        run(keys, &steps, LARGE);
    }
}
