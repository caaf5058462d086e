//! A writer at work while readers look up: every look-up has a result from before or after a write, nothing else.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use forebay_bits::Bits;
use forebay_tables::{
    ActionCall, ActionId, ActionRef, ActionScope, ActionSpec, EntryAction, Found, Implementation, KeyMatch, KeySpec,
    LookUp, MatchKind, NewEntry, OnePlace, Record, Table, TableSpec, TableView, find_together,
};

const ACTION: ActionId = ActionId(3);
const KEYS: u64 = 4096;
const WRITES: u64 = 30_000;
const READERS: usize = 2;
/// A table of at least this many bytes has many entries that stay.
const LARGE_BYTES: usize = 64 << 20;
/// The argument of the entry that matches every key, if there is one.
const FALLBACK: u64 = u64::MAX - 1;
const DEFAULT: u64 = u64::MAX;

/// Data of three equal words, so that a half-written entry would be noticed.
fn call(argument: u64) -> ActionCall {
    ActionCall::new(ACTION, vec![Bits::new(64, argument.into()); 3])
}

fn table(keys: &[(u32, MatchKind)]) -> Table {
    let keys = keys.iter().map(|&(width, kind)| KeySpec { width, kind });
    Table::new(TableSpec {
        keys: keys.collect(),
        size: KEYS as usize + 1,
        actions: vec![ActionSpec::new(ACTION, vec![64; 3], ActionScope::TableAndDefault)],
        default_action: call(DEFAULT),
        const_default: false,
        implementation: Implementation::Direct,
        memo: false,
        learns: false,
    })
}

fn argument(call: &ActionCall) -> u64 {
    let words: Vec<u64> = call.args.iter().map(Bits::to_u64).collect();
    assert!(words.iter().all(|&word| word == words[0]), "half an entry: {words:?}");
    words[0]
}

/// The values of the fields that belong to a number.
type Fields = fn(u64) -> Vec<Bits>;
/// The conditions of the entry that matches only this number's fields.
type Condition = fn(u64) -> Vec<KeyMatch>;

/// The results of three look-ups: from the words of the record, which machine code reads; from a look-up together with
/// others; and from the entry.
fn look_up(view: &TableView, fields: &[Bits], reader: &mut forebay_tables::Reader) -> [u64; 3] {
    let pin = reader.pin();
    let words = view.key_layout().pack(fields);
    let hint = view.prefetch(&words, &pin);
    let default = view.default_record(&pin);
    let one = argument_of(view, view.find(&words, hint, &pin).unwrap_or(default));
    let found = Cell::new(default);
    let among_others = view.one_place(false, &pin).map(|place| {
        let words = &words[..];
        let found = &found;
        find_together(&[OneKey { place, words, found }], 1);
        argument_of(view, found.get())
    });
    match view.lookup(fields, &pin).action {
        ActionRef::Call(call) => [one, among_others.unwrap_or(one), argument(call)],
        other => panic!("{other:?}"),
    }
}

/// A look-up of one key.
#[derive(Clone, Copy)]
struct OneKey<'pin, 'a> {
    place: OnePlace<'pin>,
    words: &'a [u64],
    found: &'a Cell<Record<'pin>>,
}

impl<'pin> LookUp<'pin> for OneKey<'pin, '_> {
    fn place(&self) -> OnePlace<'pin> {
        self.place
    }

    fn key(&self, _: usize) -> &[u64] {
        self.words
    }

    fn take(&self, _: usize, found: Found<'pin>) {
        match found {
            Found::Nothing => {}
            Found::Record(record) => self.found.set(record),
            Found::Word(word) => panic!("a record of several words is not {word:#x}"),
        }
    }
}

fn argument_of(view: &TableView, record: Record<'_>) -> u64 {
    let data = view.record_layout().data(0);
    let values: Vec<u64> = data.iter().map(|place| record.word(place.word)).collect();
    assert!(
        values.iter().all(|&value| value == values[0]),
        "half a record: {values:?}"
    );
    values[0]
}

/// One writer inserts, modifies and deletes. An entry's argument is `number * WRITES + time of the write`. `times` has
/// the time of the last write to each number twice: before it began, and after it ended.
fn run(mut table: Table, fallback: Option<Vec<KeyMatch>>, condition: Condition, fields: Fields, writes: u64) {
    let otherwise = if fallback.is_some() { FALLBACK } else { DEFAULT };
    if let Some(key) = fallback {
        table
            .insert(NewEntry::new(key, -5, EntryAction::Call(call(FALLBACK))))
            .unwrap();
    }
    let empty_bytes = table.memory_bytes();
    let done = Arc::new(AtomicBool::new(false));
    let lookups = Arc::new(AtomicU64::new(0));
    let readers: Vec<_> = (0..READERS as u64)
        .map(|seed| {
            let (view, done, lookups) = (Arc::clone(table.view()), Arc::clone(&done), Arc::clone(&lookups));
            thread::spawn(move || {
                let mut reader = view.domain().reader();
                let mut random = seed + 1;
                while !done.load(Ordering::Relaxed) {
                    random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                    let number = (random >> 33) % KEYS;
                    for seen in look_up(&view, &fields(number), &mut reader) {
                        let own = seen / WRITES == number && seen < FALLBACK;
                        assert!(own || seen == otherwise, "number {number} got {seen}");
                    }
                    lookups.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let mut random = 99u64;
    let mut ids = vec![None; KEYS as usize];
    for time in 0..writes {
        random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        let number = (random >> 33) % KEYS;
        let action = EntryAction::Call(call(number * WRITES + time % WRITES));
        let id = &mut ids[number as usize];
        match (*id, random >> 20 & 1) {
            (None, _) => *id = Some(table.insert(NewEntry::new(condition(number), 7, action)).unwrap()),
            (Some(present), 0) => table.modify(present, action).unwrap(),
            (Some(present), _) => {
                table.delete(present).unwrap();
                *id = None;
            }
        }
        // The writer's own look-up decides.
        let found = table.lookup(&fields(number)).action;
        let ActionRef::Call(found) = found else {
            panic!("{found:?}")
        };
        let expected = if id.is_some() {
            number * WRITES + time % WRITES
        } else {
            otherwise
        };
        assert_eq!(argument(found), expected);
    }
    done.store(true, Ordering::Relaxed);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
    assert!(lookups.load(Ordering::Relaxed) > 0);
    ids.into_iter().flatten().for_each(|id| drop(table.delete(id).unwrap()));
    // Records and places of entries keep their memory for later entries. Their indices do not, except for arrays of
    // cells.
    let kept = (KEYS as usize * 2 + 64) * (size_of::<[u64; 6]>() + size_of::<usize>());
    let kept = kept + if empty_bytes > LARGE_BYTES { empty_bytes / 10 } else { 0 };
    assert!(
        table.memory_bytes() <= empty_bytes + kept,
        "{} bytes, {empty_bytes} at first",
        table.memory_bytes()
    );
}

fn exact(value: u64, width: u32) -> KeyMatch {
    KeyMatch::Exact(Bits::new(width, value.into()))
}

#[test]
fn exact_entries() {
    run(
        table(&[(48, MatchKind::Exact)]),
        None,
        |number| vec![exact(number, 48)],
        |number| vec![Bits::new(48, number.into())],
        WRITES,
    );
}

#[test]
fn wide_exact_entries() {
    run(
        table(&[(128, MatchKind::Exact), (300, MatchKind::Exact)]),
        None,
        |number| vec![exact(number, 128), exact(number, 300)],
        |number| vec![Bits::new(128, number.into()), Bits::new(300, number.into())],
        WRITES,
    );
}

/// Addresses that differ in their upper bits.
fn address(number: u64) -> Bits {
    Bits::new(32, (number << 16).into())
}

/// A prefix of 32, 28 or 24 bits of a number's address.
fn prefix(number: u64) -> Vec<KeyMatch> {
    vec![KeyMatch::Lpm {
        value: address(number),
        prefix_len: 32 - (number % 3) as u32 * 4,
    }]
}

#[test]
fn prefixes() {
    run(
        table(&[(32, MatchKind::Lpm)]),
        Some(vec![KeyMatch::DontCare]),
        prefix,
        |number| vec![address(number)],
        WRITES,
    );
}

/// The same with many other prefixes, so that there are compact cells, with few contents for all of them.
#[test]
fn prefixes_among_many() {
    let others = 40_000;
    let mut table = Table::new(TableSpec {
        size: others + KEYS as usize + 1,
        ..TableSpec::clone(table(&[(32, MatchKind::Lpm)]).spec())
    });
    for number in 0..others {
        let value = Bits::new(32, (0xF000_0000 | number << 4) as u128);
        let key = vec![KeyMatch::Lpm { value, prefix_len: 28 }];
        let action = EntryAction::Call(call(number as u64 % 9));
        table.insert(NewEntry::new(key, 0, action)).expect("there is room");
    }
    {
        let mut reader = table.view().domain().reader();
        assert!(table.view().one_place(false, &reader.pin()).is_some());
    }
    run(
        table,
        Some(vec![KeyMatch::DontCare]),
        prefix,
        |number| vec![address(number)],
        WRITES,
    );
}

#[test]
fn prefixes_beside_exact_fields() {
    run(
        table(&[(16, MatchKind::Exact), (128, MatchKind::Lpm)]),
        None,
        |number| {
            let value = Bits::new(128, number.into()).shl(100);
            let prefix_len = 40 + (number % 4) as u32;
            vec![exact(number, 16), KeyMatch::Lpm { value, prefix_len }]
        },
        |number| vec![Bits::new(16, number.into()), Bits::new(128, number.into()).shl(100)],
        WRITES,
    );
}

/// Few masks and many: hash tables appear and disappear, and bit vectors fill.
#[test]
fn rules_of_many_masks() {
    run(
        table(&[(32, MatchKind::Ternary), (16, MatchKind::Range)]),
        Some(vec![KeyMatch::DontCare, KeyMatch::DontCare]),
        |number| {
            let mask = Bits::new(32, (0xFFFF | (number % 97) << 16).into());
            let value = Bits::new(32, number.into());
            let bound = |bound: u64| Bits::new(16, bound.into());
            let range = if number % 5 == 0 {
                (number, number + 9)
            } else {
                (0, 0xFFFF)
            };
            let (lo, hi) = (bound(range.0), bound(range.1));
            vec![KeyMatch::Ternary { value, mask }, KeyMatch::Range { lo, hi }]
        },
        |number| vec![Bits::new(32, number.into()), Bits::new(16, (number + 3).into())],
        WRITES / 2,
    );
}
