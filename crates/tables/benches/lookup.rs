//! Lookups per second of each engine: `cargo bench -p forebay-tables`.
//!
//! One line per engine and number of entries. A thousand keys from all over the table
//! are looked up in turn, and all of them hit.

use std::hint::black_box;
use std::time::{Duration, Instant};

use forebay_bits::Bits;
use forebay_tables::{
    ActionCall, ActionId, ActionScope, ActionSpec, EntryAction, Implementation, KeyMatch, KeySpec,
    MatchKind, NewEntry, Table, TableSpec,
};

const TIME_PER_LINE: Duration = Duration::from_millis(300);

fn main() {
    for (kind, entries) in [
        (MatchKind::Exact, 100),
        (MatchKind::Exact, 100_000),
        (MatchKind::Lpm, 100),
        (MatchKind::Lpm, 100_000),
        (MatchKind::Ternary, 100),
        (MatchKind::Ternary, 1_000),
    ] {
        let lookups_per_second = measure(&table(kind, entries), entries);
        println!("{kind:>8} {entries:>8} entries {lookups_per_second:>12.0} lookups/s");
    }
}

/// A table with one 32-bit field whose entries stand at multiples of 256, prefixes being 24 or,
/// for every fourth entry, 26 bits long.
fn table(kind: MatchKind, entries: u128) -> Table {
    let action = ActionId(0);
    let mut table = Table::new(TableSpec {
        keys: vec![KeySpec { width: 32, kind }],
        size: entries as usize,
        actions: vec![ActionSpec::new(
            action,
            vec![],
            ActionScope::TableAndDefault,
        )],
        default_action: ActionCall::new(action, vec![]),
        const_default: false,
        implementation: Implementation::Direct,
    });
    for index in 0..entries {
        let value = Bits::new(32, index << 8);
        let prefix_len = if index % 4 == 0 { 26 } else { 24 };
        let key = match kind {
            MatchKind::Exact => KeyMatch::Exact(value),
            _ => KeyMatch::Lpm { value, prefix_len },
        };
        let call = EntryAction::Call(ActionCall::new(action, vec![]));
        let inserted = table.insert(NewEntry::new(vec![key], 1, call));
        assert!(inserted.is_ok());
    }
    table
}

fn measure(table: &Table, entries: u128) -> f64 {
    let keys: Vec<[Bits; 1]> = (0..1024u128)
        .map(|step| [Bits::new(32, (step * 7919 % entries) << 8)])
        .collect();
    let start = Instant::now();
    let mut lookups = 0;
    while start.elapsed() < TIME_PER_LINE {
        for key in &keys {
            assert!(black_box(table.lookup(key)).hit.is_some());
        }
        lookups += keys.len();
    }
    lookups as f64 / start.elapsed().as_secs_f64()
}
