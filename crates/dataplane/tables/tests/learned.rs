//! Entries that packets have added: they are stored as words, and objects are made of them on request.

use forebay_bits::Bits;
use forebay_tables::{
    ActionCall, ActionId, ActionRef, ActionScope, ActionSpec, EntryAction, EntryId, Implementation, KeyMatch, KeySpec,
    MatchKind, Table, TableError, TableSpec,
};

fn forward(port: u128) -> ActionCall {
    ActionCall::new(ActionId(7), vec![Bits::new(9, port), Bits::new(100, port << 60)])
}

fn no_action() -> ActionCall {
    ActionCall::new(ActionId(3), Vec::new())
}

/// A table with keys of 48 and 80 bits.
fn table() -> Table {
    let key = |width| KeySpec {
        width,
        kind: MatchKind::Exact,
    };
    Table::new(TableSpec {
        keys: vec![key(48), key(80)],
        size: 3_000,
        actions: vec![
            ActionSpec::new(ActionId(3), Vec::new(), ActionScope::TableAndDefault),
            ActionSpec::new(ActionId(7), vec![9, 100], ActionScope::TableAndDefault),
        ],
        default_action: no_action(),
        const_default: false,
        implementation: Implementation::Direct,
        memo: false,
        learns: true,
    })
}

fn key(number: u128) -> [Bits; 2] {
    [Bits::new(48, number), Bits::new(80, !number)]
}

/// The words of a record without its slot.
fn record(port: u128) -> Vec<u64> {
    let table = table();
    let layout = table.view().record_layout();
    let mut words = vec![0; layout.words()];
    layout.compose(&mut words, 0, 1, &forward(port).args);
    words
}

fn learn(table: &mut Table, number: u128, port: u128) -> Result<EntryId, TableError> {
    let words = table.view().key_layout().pack(&key(number));
    table.prefetch_for_insertion(&words);
    table.learn(&words, &mut record(port), 7, |_| ())
}

/// The port to which readers of the table send a key.
fn port(table: &Table, number: u128) -> Option<u64> {
    let mut reader = table.view().domain().reader();
    let pin = reader.pin();
    match table.view().lookup(&key(number), &pin).action {
        ActionRef::Call(call) => call.args.first().map(Bits::to_u64),
        other => panic!("{other:?}"),
    }
}

#[test]
fn controllers_and_readers_see_entries_that_packets_have_added() {
    let mut table = table();
    let ids: Vec<EntryId> = (0..2_000)
        .map(|number| learn(&mut table, number, number % 512).unwrap())
        .collect();
    assert_eq!(learn(&mut table, 5, 1), Err(TableError::Duplicate(ids[5])));
    assert!(table.entries().map(|entry| entry.id()).eq(ids.iter().copied()));
    let entry = table.get(ids[77]).unwrap();
    assert_eq!(entry.key(&table.spec().keys), key(77).map(KeyMatch::Exact));
    assert_eq!(entry.action(), &EntryAction::Call(forward(77)));
    assert_eq!((entry.idle_timeout_ns(), entry.slot(), entry.priority()), (7, 77, 0));
    assert_eq!((port(&table, 600), port(&table, 2_001)), (Some(88), None));
    assert_eq!(table.lookup(&key(3)).hit.unwrap().id(), ids[3]);
    assert_eq!(
        table.find(key(9).map(KeyMatch::Exact).to_vec(), 0).unwrap().id(),
        ids[9]
    );
}

#[test]
fn they_are_changed_like_others() {
    let mut table = table();
    let ids: Vec<EntryId> = (0..10).map(|number| learn(&mut table, number, 1).unwrap()).collect();
    assert_eq!(port(&table, 4), Some(1));
    table.set_timeout(ids[4], 9).unwrap();
    assert_eq!((table.timeout_in_slot(4), table.timeout_in_slot(5)), (Some(9), Some(7)));
    assert_eq!(table.get(ids[4]).unwrap().idle_timeout_ns(), 9);
    for number in [4, 5] {
        table.modify(ids[number], EntryAction::Call(forward(2))).unwrap();
        assert_eq!(port(&table, number as u128), Some(2));
    }
    assert_eq!(table.timeout_in_slot(4), Some(9));
    let deleted = table.delete(ids[6]).unwrap();
    assert_eq!(
        (deleted.id(), deleted.action()),
        (ids[6], &EntryAction::Call(forward(1)))
    );
    assert_eq!((port(&table, 6), table.id_in_slot(6)), (None, None));
    let again = learn(&mut table, 100, 3).unwrap();
    assert_eq!((table.id_in_slot(6), port(&table, 100)), (Some(again), Some(3)));
    assert!(table.get(ids[6]).is_none());
}

#[test]
fn a_copy_has_them_too() {
    let mut table = table();
    let ids: Vec<EntryId> = (0..100)
        .map(|number| learn(&mut table, number, number).unwrap())
        .collect();
    table.delete(ids[3]).unwrap();
    let mut copy = table.clone();
    copy.set_timeout(ids[8], 99).unwrap();
    copy.delete(ids[9]).unwrap();
    assert_eq!((table.timeout_in_slot(8), copy.timeout_in_slot(8)), (Some(7), Some(99)));
    assert_eq!((port(&table, 9), port(&copy, 9)), (Some(9), None));
    assert_eq!((port(&copy, 3), port(&copy, 50)), (None, Some(50)));
    assert_eq!(copy.len(), 98);
    learn(&mut copy, 3, 1).unwrap();
    assert_eq!((port(&copy, 3), port(&table, 3)), (Some(1), None));
}
