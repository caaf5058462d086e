//! What tables refuse, and what they do besides matching.

use forebay_bits::Bits;
use forebay_tables::{
    ActionCall, ActionError, ActionId, ActionRef, ActionScope, ActionSpec, EntryAction, FIND_MAX, Found, GroupId,
    Implementation, KeyError, KeyMatch, KeySpec, LookUp, MatchKind, MemberId, NewEntry, OnePlace, Record, SLOT_BITS,
    Table, TableError, TableSpec, find_together,
};
use std::cell::Cell;

const NO_ACTION: ActionId = ActionId(0);
const FORWARD: ActionId = ActionId(1);
const ENTRIES_ONLY: ActionId = ActionId(2);

fn table(keys: &[(u32, MatchKind)], implementation: Implementation) -> Table {
    Table::new(TableSpec {
        keys: keys.iter().map(|&(width, kind)| KeySpec { width, kind }).collect(),
        size: 2,
        actions: vec![
            ActionSpec::new(NO_ACTION, vec![], ActionScope::DefaultOnly),
            ActionSpec::new(FORWARD, vec![9], ActionScope::TableAndDefault),
            ActionSpec::new(ENTRIES_ONLY, vec![], ActionScope::TableOnly),
        ],
        default_action: ActionCall::new(NO_ACTION, vec![]),
        const_default: false,
        implementation,
        memo: false,
        learns: false,
    })
}

fn exact() -> Table {
    table(&[(8, MatchKind::Exact)], Implementation::Direct)
}

fn forward(port: u128) -> ActionCall {
    ActionCall::new(FORWARD, vec![Bits::new(9, port)])
}

fn key(value: u128) -> Vec<KeyMatch> {
    vec![KeyMatch::Exact(Bits::new(8, value))]
}

fn entry(value: u128) -> NewEntry {
    NewEntry::new(key(value), 0, EntryAction::Call(forward(1)))
}

fn with_action(action: EntryAction) -> NewEntry {
    NewEntry::new(key(0), 0, action)
}

/// A larger table like `exact()`, to which packets add entries.
fn learning() -> Table {
    let spec = exact().spec().clone();
    Table::new(TableSpec {
        keys: vec![
            KeySpec {
                width: 48,
                kind: MatchKind::Exact,
            };
            2
        ],
        size: 10_000,
        learns: true,
        ..spec
    })
}

#[test]
fn an_entry_that_is_learnt_is_no_change_unless_the_table_grows() {
    let mut table = learning();
    let view = table.view().clone();
    let mut reader = view.domain().reader();
    let key = |number: u128| [Bits::new(48, number), Bits::new(48, !number)];
    let (mut changes, mut slots) = (0, Vec::new());
    for number in 0..2_000 {
        let pin = reader.pin();
        let words = view.key_layout().pack(&key(number));
        assert!(view.find(&words, view.hint(&words), &pin).is_none());
        table.prefetch_for_insertion(&words);
        let id = table.insert_exact(&key(number), forward(number % 512), 7, |slot| slots.push(slot));
        changes += u32::from(!pin.is_current());
        assert_eq!(
            view.lookup(&key(number), &pin).action,
            ActionRef::Call(&forward(number % 512))
        );
        let again = table.insert_exact(&key(number), forward(1), 7, |_| ());
        assert_eq!(again, Err(TableError::Duplicate(id.unwrap())));
    }
    assert!((5..25).contains(&changes), "{changes} changes");
    assert!(slots.into_iter().eq(0..2_000));
    let conditions = |number| key(number).map(KeyMatch::Exact).to_vec();
    let found = table.find(conditions(77), 0).unwrap();
    let (id, slot) = (found.id(), found.slot() as u32);
    assert_eq!(
        (found.idle_timeout_ns(), found.key(&table.spec().keys)),
        (7, conditions(77))
    );
    let pin = reader.pin();
    table.set_timeout(id, 9).unwrap();
    assert!(pin.is_current());
    assert_eq!(table.in_slot(slot).unwrap().idle_timeout_ns(), 9);
    table.delete(id).unwrap();
    assert!(!pin.is_current());
    assert!(table.in_slot(slot).is_none() && table.find(conditions(77), 0).is_err());
    let short = table.insert_exact(&key(1)[..1], forward(1), 0, |_| ());
    assert!(matches!(short, Err(TableError::BadKey(KeyError::FieldCount { .. }))));
}

#[test]
fn a_full_table_waits_for_readers_only_when_entries_were_deleted() {
    let mut table = exact();
    let first = table.insert(entry(1)).unwrap();
    assert!(!table.waits_for_readers(1));
    table.insert(entry(2)).unwrap();
    assert!(!table.waits_for_readers(1), "it is full, whoever reads");
    table.delete(first).unwrap();
    assert!(table.waits_for_readers(1));
    table.insert(entry(3)).unwrap();
    assert!(!table.waits_for_readers(1));
}

#[test]
fn full_tables_take_entries_again_after_a_deletion() {
    let mut table = exact();
    let first = table.insert(entry(1)).unwrap();
    table.insert(entry(2)).unwrap();
    let full = table.insert(entry(3));
    assert_eq!(full, Err(TableError::TableFull { size: 2 }));
    assert_eq!(table.insert(entry(1)), Err(TableError::Duplicate(first)));
    let slot = table.delete(first).unwrap().slot();
    let third = table.insert(entry(3)).unwrap();
    assert_eq!(table.get(third).unwrap().slot(), slot);
    assert!(third > first);
}

#[test]
fn actions_are_checked() {
    let mut table = exact();
    let mut insert = |call| table.insert(with_action(EntryAction::Call(call)));
    let bad = |error| Err(TableError::BadAction(error));
    assert_eq!(
        insert(ActionCall::new(ActionId(9), vec![])),
        bad(ActionError::Unknown(ActionId(9)))
    );
    assert_eq!(
        insert(ActionCall::new(NO_ACTION, vec![])),
        bad(ActionError::DefaultOnly(NO_ACTION))
    );
    assert_eq!(
        insert(ActionCall::new(FORWARD, vec![])),
        bad(ActionError::ArgumentCount { expected: 1, found: 0 })
    );
    assert_eq!(
        insert(ActionCall::new(FORWARD, vec![Bits::zero(8)])),
        bad(ActionError::ArgumentWidth {
            parameter: 0,
            expected: 9,
            found: 8
        })
    );
    assert_eq!(
        table.set_default(ActionCall::new(ENTRIES_ONLY, vec![])),
        Err(ActionError::TableOnly(ENTRIES_ONLY).into())
    );
}

#[test]
fn default_actions_can_be_changed_and_reset() {
    let mut table = exact();
    table.set_default(forward(5)).unwrap();
    let result = table.lookup(&[Bits::zero(8)]);
    assert_eq!(result.action, ActionRef::Call(&forward(5)));
    table.reset_default();
    assert_eq!(table.default_action().action, NO_ACTION);

    let spec = TableSpec {
        const_default: true,
        ..table.spec().clone()
    };
    let constant = Table::new(spec).set_default(forward(5));
    assert_eq!(constant, Err(TableError::ConstDefault));
}

#[test]
fn const_entries_stay() {
    let mut table = exact();
    let constant = NewEntry {
        is_const: true,
        ..entry(1)
    };
    let id = table.insert(constant).unwrap();
    let error = TableError::ConstEntry(id);
    assert_eq!(table.delete(id).unwrap_err(), error);
    let modified = table.modify(id, EntryAction::Call(forward(2)));
    assert_eq!(modified, Err(error));

    table.seal();
    assert_eq!(table.insert(entry(2)), Err(TableError::ConstEntries));
    assert_eq!(table.delete(id).unwrap_err(), TableError::ConstEntries);
    assert!(table.lookup(&[Bits::new(8, 1)]).hit.is_some());
}

#[test]
fn keys_are_checked() {
    let mut table = table(
        &[(8, MatchKind::Exact), (8, MatchKind::Lpm), (8, MatchKind::Range)],
        Implementation::Direct,
    );
    let exact = |value| KeyMatch::Exact(Bits::new(8, value));
    let lpm = |prefix_len| KeyMatch::Lpm {
        value: Bits::zero(8),
        prefix_len,
    };
    let range = |lo, hi| KeyMatch::Range {
        lo: Bits::new(8, lo),
        hi: Bits::new(8, hi),
    };
    let mut insert = |key| {
        let new = NewEntry::new(key, 1, EntryAction::Call(forward(1)));
        match table.insert(new) {
            Err(TableError::BadKey(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(insert(vec![exact(1)]), KeyError::FieldCount { expected: 3, found: 1 });
    assert_eq!(
        insert(vec![exact(1), lpm(9), range(0, 1)]),
        KeyError::PrefixTooLong {
            field: 1,
            width: 8,
            prefix_len: 9
        }
    );
    assert_eq!(
        insert(vec![exact(1), lpm(8), range(2, 1)]),
        KeyError::EmptyRange { field: 2 }
    );
    assert_eq!(
        insert(vec![KeyMatch::DontCare, lpm(8), range(0, 1)]),
        KeyError::Kind {
            field: 0,
            kind: MatchKind::Exact
        }
    );
    let narrow = KeyMatch::Exact(Bits::zero(7));
    assert_eq!(
        insert(vec![narrow, lpm(8), range(0, 1)]),
        KeyError::Width {
            field: 0,
            expected: 8,
            found: 7
        }
    );
}

#[test]
fn conditions_become_canonical() {
    let ternary = |value, mask| KeyMatch::Ternary {
        value: Bits::new(8, value),
        mask: Bits::new(8, mask),
    };
    let lpm = |value, prefix_len| KeyMatch::Lpm {
        value: Bits::new(8, value),
        prefix_len,
    };
    let range = |lo, hi| KeyMatch::Range {
        lo: Bits::new(8, lo),
        hi: Bits::new(8, hi),
    };
    let exact = |value| KeyMatch::Exact(Bits::new(8, value));
    let optional = |value| KeyMatch::Optional(Some(Bits::new(8, value)));
    let any = KeyMatch::DontCare;
    let accepted = [
        (MatchKind::Exact, ternary(5, 0xFF), exact(5)),
        (MatchKind::Exact, optional(5), exact(5)),
        (MatchKind::Exact, range(5, 5), exact(5)),
        (MatchKind::Lpm, lpm(0xAB, 4), lpm(0xA0, 4)),
        (MatchKind::Lpm, ternary(0xAB, 0xF0), lpm(0xA0, 4)),
        (MatchKind::Lpm, exact(0xAB), lpm(0xAB, 8)),
        (MatchKind::Lpm, any.clone(), lpm(0, 0)),
        (MatchKind::Ternary, ternary(0xAB, 0x0F), ternary(0x0B, 0x0F)),
        (MatchKind::Ternary, lpm(0xAB, 4), ternary(0xA0, 0xF0)),
        (MatchKind::Ternary, exact(0xAB), ternary(0xAB, 0xFF)),
        (MatchKind::Ternary, range(0, 0xFF), ternary(0, 0)),
        (MatchKind::Range, lpm(0xAB, 4), range(0xA0, 0xAF)),
        (MatchKind::Range, exact(7), range(7, 7)),
        (MatchKind::Range, any.clone(), range(0, 0xFF)),
        (MatchKind::Optional, exact(7), optional(7)),
        (MatchKind::Optional, ternary(0, 0), KeyMatch::Optional(None)),
        (MatchKind::Optional, any.clone(), KeyMatch::Optional(None)),
    ];
    for (kind, said, canonical) in accepted {
        let spec = KeySpec { width: 8, kind };
        assert_eq!(said.clone().canonical(0, spec), Ok(canonical.clone()));
        for value in (0..=255).map(|value| Bits::new(8, value)) {
            assert_eq!(said.matches(&value), canonical.matches(&value));
        }
    }
    let refused = [
        (MatchKind::Exact, lpm(0, 7)),
        (MatchKind::Lpm, ternary(0, 0x0F)),
        (MatchKind::Ternary, range(1, 3)),
        (MatchKind::Range, ternary(0, 0x0F)),
        (MatchKind::Optional, ternary(0, 0x0F)),
        (MatchKind::Selector, any),
    ];
    for (kind, said) in refused {
        let spec = KeySpec { width: 8, kind };
        assert_eq!(said.canonical(3, spec), Err(KeyError::Kind { field: 3, kind }));
    }
}

#[test]
fn tables_without_a_key_always_miss() {
    let mut table = table(&[], Implementation::Direct);
    assert!(table.lookup(&[]).hit.is_none());
    let action = EntryAction::Call(forward(1));
    table.insert(NewEntry::new(vec![], 0, action)).unwrap();
    assert!(table.lookup(&[]).hit.is_none());
}

#[test]
fn selector_fields_are_hashed_and_not_matched() {
    let mut table = table(
        &[
            (4, MatchKind::Selector),
            (8, MatchKind::Exact),
            (16, MatchKind::Selector),
        ],
        Implementation::Selector,
    );
    let group = EntryAction::Group(GroupId(3));
    table.insert(with_action(group)).unwrap();
    let packet = [Bits::new(4, 0xA), Bits::zero(8), Bits::new(16, 0xBCDE)];
    assert_eq!(table.lookup(&packet).action, ActionRef::Group(GroupId(3)));
    assert_eq!(table.selector_input(&packet), [0xAB, 0xCD, 0xE0]);
}

#[test]
fn implementations_take_their_own_actions() {
    let refused = [
        (Implementation::Direct, EntryAction::Member(MemberId(1))),
        (Implementation::Direct, EntryAction::Group(GroupId(1))),
        (Implementation::Profile, EntryAction::Group(GroupId(1))),
        (Implementation::Profile, EntryAction::Call(forward(1))),
        (Implementation::Selector, EntryAction::Call(forward(1))),
    ];
    for (implementation, action) in refused {
        let mut table = table(&[(8, MatchKind::Exact)], implementation);
        let error = ActionError::Implementation(implementation).into();
        assert_eq!(table.insert(with_action(action)), Err(error));
    }
    let mut table = table(&[(8, MatchKind::Exact)], Implementation::Profile);
    let member = EntryAction::Member(MemberId(1));
    assert!(table.insert(with_action(member)).is_ok());
}

#[test]
fn a_modified_entry_keeps_its_timeout_unless_it_gets_another() {
    let mut table = exact();
    let idle = NewEntry {
        idle_timeout_ns: 100,
        ..entry(1)
    };
    let id = table.insert(idle).unwrap();
    let timeout = |table: &Table| table.get(id).unwrap().idle_timeout_ns();
    let action = table.get(id).unwrap().action().clone();
    table.modify(id, action.clone()).unwrap();
    assert_eq!(timeout(&table), 100);
    table.modify_with_timeout(id, action, Some(7)).unwrap();
    assert_eq!(timeout(&table), 7);
}

/// A look-up of several keys, whose words begin at consecutive words of `keys`, and its results.
#[derive(Clone, Copy)]
struct Words<'pin, 'a> {
    place: OnePlace<'pin>,
    keys: &'a [u64],
    /// Words of a key.
    words: usize,
    found: &'a [Cell<Option<u64>>],
    gives_words: &'a Cell<bool>,
}

impl<'pin> LookUp<'pin> for Words<'pin, '_> {
    fn place(&self) -> OnePlace<'pin> {
        self.place
    }

    fn key(&self, index: usize) -> &[u64] {
        &self.keys[index..index + self.words]
    }

    fn take(&self, index: usize, found: Found<'pin>) {
        self.gives_words
            .set(self.gives_words.get() || matches!(found, Found::Word(_)));
        self.found[index].set(match found {
            Found::Nothing => None,
            Found::Word(word) => Some(word),
            Found::Record(record) => Some(without_slot(record.word(0))),
        });
    }
}

fn without_slot(word: u64) -> u64 {
    word >> SLOT_BITS << SLOT_BITS
}

/// The words of the records of these keys without slots, from each way to look keys up together.
fn words_found(table: &Table, keys: &[u64]) -> [Vec<Option<u64>>; 2] {
    let view = table.view();
    let mut reader = view.domain().reader();
    let pin = reader.pin();
    let mut found = [vec![], vec![]];
    for keys in keys.chunks(FIND_MAX) {
        let places = [(); 2].map(|()| vec![Cell::new(None); keys.len()]);
        let gives_words = &Cell::new(false);
        let look_up = |kind: usize| Words {
            place: view.one_place(kind == 0, &pin).expect("it is exact"),
            keys,
            words: 1,
            found: &places[kind],
            gives_words,
        };
        find_together(&[look_up(0), look_up(1)], keys.len());
        let record = |index: usize, record: Option<Record<'_>>| {
            assert_eq!(
                record.map(|record| without_slot(record.word(0))),
                places[0][index].get()
            );
        };
        view.find_all(keys.len(), |index| &keys[index..=index], record, &pin);
        for (found, places) in found.iter_mut().zip(&places) {
            found.extend(places.iter().map(Cell::get));
        }
    }
    found
}

/// Whether a look-up returns a word in place of a record.
fn gives_words(table: &Table) -> bool {
    let mut reader = table.view().domain().reader();
    let pin = reader.pin();
    table.view().one_place(false, &pin).is_some_and(|place| {
        let gives_words = Cell::new(false);
        let look_up = Words {
            place,
            keys: &[1, 1],
            words: table.view().key_layout().words(),
            found: &[Cell::new(None)],
            gives_words: &gives_words,
        };
        find_together(&[look_up], 1);
        gives_words.get()
    })
}

#[test]
fn short_records_are_found_in_words_as_they_are_found_in_records() {
    let small = table(&[(48, MatchKind::Exact)], Implementation::Direct);
    let mut table = Table::new(TableSpec {
        size: 1000,
        ..TableSpec::clone(small.spec())
    });
    let key = |value: u64| vec![KeyMatch::Exact(Bits::new(48, value.into()))];
    let keys: Vec<u64> = (0..900).map(|number| number * 0x0001_0000_0001 % (1 << 48)).collect();
    let mut ids = Vec::new();
    for step in 0..6_000_usize {
        let number = step * 7919 % keys.len();
        let action = EntryAction::Call(forward(step as u128 % 512));
        match (step % 5, table.find(key(keys[number]), 0).map(|entry| entry.id())) {
            (4, Ok(id)) => drop(table.delete(id)),
            (_, Ok(id)) => drop(table.modify(id, action)),
            (_, Err(_)) => ids.extend(table.insert(NewEntry::new(key(keys[number]), 0, action))),
        }
        if step % 1_000 == 999 {
            table = table.clone();
        }
        if step % 100 == 0 {
            let [records, words] = words_found(&table, &keys);
            assert_eq!(records, words, "step {step}");
        }
    }
    assert!(ids.len() > 500);
}

#[test]
fn long_records_are_not_found_in_words() {
    let with_an_entry = |widths: &[u32]| {
        let keys: Vec<_> = widths.iter().map(|width| (*width, MatchKind::Exact)).collect();
        let mut table = table(&keys, Implementation::Direct);
        let key = widths.iter().map(|width| KeyMatch::Exact(Bits::new(*width, 1)));
        let entry = NewEntry::new(key.collect(), 0, EntryAction::Call(forward(1)));
        table.insert(entry).expect("there is room");
        table
    };
    assert!(gives_words(&with_an_entry(&[48])));
    assert!(!gives_words(&with_an_entry(&[56])));
    assert!(!gives_words(&with_an_entry(&[48, 48])));
    assert!(!gives_words(&table(&[(16, MatchKind::Lpm)], Implementation::Direct)));
}
