//! How compiled code accesses tables: with keys as words.

use crate::arrays::Arrays;
use crate::route::Replica;
use forebay_bits::Bits;
use forebay_exec::{Objects, PacketFacts};
use forebay_ir::{CounterId, MatchKind, MeterId, Program, Table, TableId};
use forebay_tables::{KeyLayout, KeySpec, Pin, RecordLayout, Search, TableView};
use std::sync::atomic::AtomicU64;

/// [`Objects`] whose tables can be searched without making a [`Bits`] value for each key field.
pub trait TableObjects: Objects {
    /// A table without an action profile, made of the same declaration.
    fn table(&self, table: TableId) -> &TableView;

    /// Looks up a table with an action profile, and builds the record that a table without one would contain. `key` has
    /// the words of [`KeyLayout::with_selectors`]. Returns whether it hit. Nothing is counted or metered.
    fn find_member(&self, members: &Members, key: &[u64], values: &mut Vec<Bits>, record: &mut [u64]) -> bool;

    /// The pin that keeps look-up results valid.
    fn pin(&self) -> &Pin<'_>;

    /// The members of a multicast group; empty when the group does not exist.
    fn replicas(&self, group: u16) -> &[Replica];

    /// The arrays of stateful objects.
    fn arrays(&self) -> &Arrays;

    /// The address of the cell that points to the word of the held [lock](forebay_tables::Lock), or is null when no
    /// lock is held. Compiled code reads and writes the cell while a [`crate::FastPath`] or the execution of a graph
    /// lives. A null address means that atomic sections need no locks, because no other thread can be in one.
    fn held_lock(&self) -> *mut *const AtomicU64;

    /// The effects of a hit other than the direct counter and the hit time: meters the packet and returns the direct
    /// meter's colour, if there is one.
    fn hit(&self, table: TableId, slot: u32, packet: PacketFacts) -> Option<u8>;

    /// The same for a miss: the default entry is metered.
    fn miss(&self, table: TableId, packet: PacketFacts) -> Option<u8>;

    /// See [`forebay_tables::MeterArray::lines`].
    fn meter_lines(&self, meter: MeterId, index: u64) -> [usize; 2];

    /// Undoes [`Objects::count`] for a packet that will be counted again.
    fn take_back_count(&self, counter: CounterId, index: u64, packet: PacketFacts);
}

/// The layouts of a table's keys and action data.
#[derive(Clone, Debug)]
pub(crate) struct TableLayout {
    pub(crate) key: KeyLayout,
    pub(crate) record: RecordLayout,
    /// How compiled code searches the table itself; `None` when it calls the runtime.
    pub(crate) search: Option<Search>,
    /// For a table with an action profile.
    pub(crate) members: Option<Members>,
}

impl TableLayout {
    /// The layouts of a table, with a memo in its records or without. Those of a table with an action profile are of
    /// the records that are built.
    pub(crate) fn new(program: &Program, table: TableId, memo: bool) -> TableLayout {
        if let Some(members) = Members::of(program, table) {
            return TableLayout {
                key: members.key.clone(),
                record: members.record.clone(),
                search: None,
                members: Some(members),
            };
        }
        let table = &program.tables[table.index()];
        let keys = key_specs(table);
        let widths = widths_of_actions(program, table);
        let widths: Vec<&[u32]> = widths.iter().map(Vec::as_slice).collect();
        let record = RecordLayout::of_actions(&widths, memo);
        TableLayout {
            key: KeyLayout::new(&keys),
            search: Search::new(&keys, record.words()),
            record,
            members: None,
        }
    }
}

/// A table with an action profile, as compiled code looks it up.
#[derive(Clone, Debug)]
pub struct Members {
    /// The table.
    pub table: TableId,
    /// The layout of its keys; selector fields come last.
    pub key: KeyLayout,
    /// The number of key words that are matched.
    pub matched_words: usize,
    /// The layout of the record that is built. It has one action more than the table, which stands for no action.
    pub record: RecordLayout,
}

impl Members {
    /// The action in records of packets for which no action runs.
    pub fn no_action(&self) -> usize {
        self.record.actions() - 1
    }

    /// Of a table, if it has an action profile.
    pub(crate) fn of(program: &Program, id: TableId) -> Option<Members> {
        let table = &program.tables[id.index()];
        table.implementation?;
        let keys = key_specs(table);
        let mut widths = widths_of_actions(program, table);
        widths.push(Vec::new());
        let widths: Vec<&[u32]> = widths.iter().map(Vec::as_slice).collect();
        Some(Members {
            table: id,
            key: KeyLayout::with_selectors(&keys),
            matched_words: KeyLayout::new(&keys).words(),
            record: RecordLayout::of_actions(&widths, false),
        })
    }

    /// Words of the key and of the record.
    pub(crate) fn words(&self) -> usize {
        self.key.words() + self.record.words()
    }
}

/// The widths of the parameters, by action of a table.
fn widths_of_actions(program: &Program, table: &Table) -> Vec<Vec<u32>> {
    let widths = table.actions.iter().map(|listed| {
        let params = program.actions[listed.action.index()].params.iter();
        params.map(|param| param.width).collect::<Vec<u32>>()
    });
    widths.collect()
}

fn key_specs(table: &Table) -> Vec<KeySpec> {
    table.keys.iter().map(key_spec).collect()
}

/// A field of a key, converted for `forebay-tables`.
pub fn key_spec(key: &forebay_ir::TableKey) -> KeySpec {
    let kind = match key.match_kind {
        MatchKind::Exact => forebay_tables::MatchKind::Exact,
        MatchKind::Lpm => forebay_tables::MatchKind::Lpm,
        MatchKind::Ternary => forebay_tables::MatchKind::Ternary,
        MatchKind::Range => forebay_tables::MatchKind::Range,
        MatchKind::Optional => forebay_tables::MatchKind::Optional,
        MatchKind::Selector => forebay_tables::MatchKind::Selector,
    };
    KeySpec { width: key.width, kind }
}
