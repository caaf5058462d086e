//! Lookups per second of each engine: `cargo bench -p forebay-tables [-- FILTER]`.
//!
//! Prints one line per engine and number of entries: nanoseconds of single look-ups and of look-ups in bursts of 32
//! with prefetching, bytes of memory per entry that look-ups read, and nanoseconds of an insertion. As many different
//! keys as there are entries, but at most a million, are looked up in random order; all of them hit. The time is the
//! thread's processor time, so other work on the machine matters only by its effect on the caches.

use std::hint::black_box;
use std::time::Duration;

use forebay_bits::Bits;
use forebay_tables::{
    ActionCall, ActionId, ActionScope, ActionSpec, EntryAction, Implementation, KeyMatch, KeySpec, MatchKind, NewEntry,
    Table, TableSpec,
};

const TIME_PER_FIGURE: Duration = Duration::from_millis(300);
const BURST: usize = 32;
const KEYS_MAX: usize = 1_000_000;

/// The processor time of this thread.
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the structure.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0, "every thread has this clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A table and a key that hits each entry.
struct Case {
    name: &'static str,
    fields: &'static [(u32, MatchKind)],
    sizes: &'static [usize],
    entry: fn(u64) -> (Vec<KeyMatch>, Vec<Bits>),
}

fn main() {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    println!(
        "{:<22} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "table", "entries", "ns single", "ns burst", "B/entry", "ns insert"
    );
    for case in cases()
        .iter()
        .filter(|case| filter.as_ref().is_none_or(|filter| case.name.contains(filter)))
    {
        for &size in case.sizes {
            measure(case, size);
        }
    }
}

fn cases() -> [Case; 6] {
    [
        Case {
            name: "exact 48",
            fields: &[(48, MatchKind::Exact)],
            sizes: &[2, 1_000, 1_000_000, 10_000_000],
            entry: |number| {
                let value = Bits::new(48, spread(number).into());
                (vec![KeyMatch::Exact(value.clone())], vec![value])
            },
        },
        Case {
            name: "exact 5-tuple",
            fields: &[
                (32, MatchKind::Exact),
                (32, MatchKind::Exact),
                (8, MatchKind::Exact),
                (16, MatchKind::Exact),
                (16, MatchKind::Exact),
            ],
            sizes: &[1_000, 1_000_000],
            entry: |number| {
                let values = [(32, spread(number)), (32, number), (8, 6), (16, 443), (16, number >> 3)];
                let values = values.map(|(width, value)| Bits::new(width, value.into()));
                (values.iter().cloned().map(KeyMatch::Exact).collect(), values.to_vec())
            },
        },
        Case {
            name: "lpm 32",
            fields: &[(32, MatchKind::Lpm)],
            sizes: &[2, 1_000, 1_000_000],
            entry: |number| {
                lpm(
                    32,
                    ((number * 2_654_435_761) & 0xFF_FFFF) << 8,
                    [24, 24, 22, 20, 32, 24, 23, 24],
                )
            },
        },
        Case {
            name: "lpm 128",
            fields: &[(128, MatchKind::Lpm)],
            sizes: &[2, 1_000, 200_000],
            entry: |number| {
                lpm(
                    128,
                    0x2000_0000_0000 | spread(number) >> 3,
                    [48, 48, 44, 32, 48, 40, 48, 47],
                )
            },
        },
        Case {
            name: "ternary, a mask each",
            fields: &[
                (32, MatchKind::Ternary),
                (32, MatchKind::Ternary),
                (16, MatchKind::Ternary),
            ],
            sizes: &[100, 1_000, 4_000],
            entry: |number| {
                let mask = [
                    0xFFFF_FFFF << (number % 17),
                    0xFFFF_FFFF << (number / 17 % 17),
                    0xFFFF << (number / 289),
                ];
                ternary(number, mask)
            },
        },
        Case {
            name: "ternary, 8 masks",
            fields: &[
                (32, MatchKind::Ternary),
                (32, MatchKind::Ternary),
                (16, MatchKind::Ternary),
            ],
            sizes: &[1_000, 100_000],
            entry: |number| ternary(number, [0xFFFF_FFFF, 0xFFFF_FFFF << (number % 8), 0xFFFF]),
        },
    ]
}

/// Maps numbers to different numbers of 48 bits.
fn spread(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4B) & 0xFFFF_FFFF_FFFF
}

/// `upper` are the highest 48 bits, or all bits of narrower fields.
fn lpm(width: u32, upper: u64, lengths: [u32; 8]) -> (Vec<KeyMatch>, Vec<Bits>) {
    let value = Bits::new(width, u128::from(upper) << width.saturating_sub(48));
    let prefix_len = lengths[(upper >> 11) as usize % 8];
    let key = KeyMatch::Lpm {
        value: value.clone(),
        prefix_len,
    };
    (vec![key], vec![value])
}

fn ternary(number: u64, masks: [u64; 3]) -> (Vec<KeyMatch>, Vec<Bits>) {
    let values = [spread(number), spread(number) >> 16, number];
    let fields = values.into_iter().zip(masks).zip([32, 32, 16]);
    fields
        .map(|((value, mask), width)| {
            let (value, mask) = (Bits::new(width, value.into()), Bits::new(width, mask.into()));
            let key = KeyMatch::Ternary {
                value: value.clone(),
                mask,
            };
            (key, value)
        })
        .unzip()
}

fn measure(case: &Case, size: usize) {
    let action = ActionId(0);
    let call = ActionCall::new(action, vec![Bits::new(9, 1)]);
    let keys = case.fields.iter().map(|&(width, kind)| KeySpec { width, kind });
    let mut table = Table::new(TableSpec {
        keys: keys.collect(),
        size,
        actions: vec![ActionSpec::new(action, vec![9], ActionScope::TableAndDefault)],
        default_action: call.clone(),
        const_default: false,
        implementation: Implementation::Direct,
        memo: false,
        learns: false,
    });
    let mut keys = Vec::new();
    let start = thread_time();
    for number in 0..size as u64 {
        let (condition, fields) = (case.entry)(number);
        // Two prefixes may be equal; the second is refused.
        let _ = table.insert(NewEntry::new(
            condition,
            (number % 1000) as i32,
            EntryAction::Call(call.clone()),
        ));
        if keys.len() < KEYS_MAX {
            keys.push(table.view().key_layout().pack(&fields));
        }
    }
    let insertion = (thread_time() - start).as_nanos() as f64 / size as f64;
    shuffle(&mut keys);
    let (single, burst) = (single(&table, &keys), burst(&table, &keys));
    let bytes = table.memory_bytes() as f64 / table.len() as f64;
    println!(
        "{:<22} {:>10} {single:>10.1} {burst:>10.1} {bytes:>10.1} {insertion:>10.0}",
        case.name,
        table.len()
    );
}

type Key = forebay_tables::layout::Key;

fn shuffle(keys: &mut [Key]) {
    let mut random = 1u64;
    for index in (1..keys.len()).rev() {
        random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        keys.swap(index, (random >> 33) as usize % (index + 1));
    }
}

/// Nanoseconds of a look-up that waits for the previous one.
fn single(table: &Table, keys: &[Key]) -> f64 {
    let view = table.view();
    let mut reader = view.domain().reader();
    repeat(keys, |keys| {
        let pin = reader.pin();
        for key in keys {
            let record = view.find(key, view.hint(key), &pin).expect("all keys hit");
            black_box(record.word(0));
        }
    })
}

/// Nanoseconds of a look-up in a burst: prefetch for all, then find.
fn burst(table: &Table, keys: &[Key]) -> f64 {
    let view = table.view();
    let mut reader = view.domain().reader();
    let mut hints = [0; BURST];
    repeat(keys, |keys| {
        let pin = reader.pin();
        for (hint, key) in hints.iter_mut().zip(keys) {
            *hint = view.prefetch(key, &pin);
        }
        for (hint, key) in hints.iter().zip(keys) {
            let record = view.find(key, *hint, &pin).expect("all keys hit");
            black_box(record.word(0));
        }
    })
}

fn repeat(keys: &[Key], mut look_up: impl FnMut(&[Key])) -> f64 {
    keys.chunks(BURST).for_each(&mut look_up);
    let start = thread_time();
    let mut lookups = 0;
    while (thread_time() - start) < TIME_PER_FIGURE {
        // A few keys are used many times before the clock is read.
        for _ in 0..KEYS_MAX / keys.len() / 16 + 1 {
            for burst in keys.chunks(BURST) {
                look_up(burst);
            }
            lookups += keys.len();
        }
    }
    (thread_time() - start).as_nanos() as f64 / lookups as f64
}
