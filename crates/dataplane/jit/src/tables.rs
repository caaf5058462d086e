//! How compiled code reaches tables: by the words of a key.

use crate::arrays::Arrays;
use crate::route::Replica;
use forebay_bits::Bits;
use forebay_exec::{Lookup, Objects, PacketFacts};
use forebay_ir::{CounterId, MatchKind, MeterId, Program, Table, TableId};
use forebay_tables::{KeyLayout, KeySpec, Pin, RecordLayout, Search, TableView};
use std::sync::atomic::AtomicU64;

/// [`Objects`] whose tables can be read without a value for each field.
pub trait TableObjects: Objects {
    /// A table without action profile, made of the same declaration.
    fn table(&self, table: TableId) -> &TableView;

    /// As [`Objects::lookup`] by the words of the key, for a table with an action profile. `load` puts the values of its fields into
    /// `key`, which only groups of members need.
    fn lookup_words(
        &self,
        table: TableId,
        words: &[u64],
        key: &mut Vec<Bits>,
        load: &dyn Fn(&mut Vec<Bits>),
        packet: PacketFacts,
    ) -> Lookup<'_>;

    /// Finds what a table with an action profile does with a packet, and makes up the record of a table without one: `key` has the words
    /// that [`KeyLayout::with_selectors`] says. Returns whether it hit. Nothing is counted or metered.
    fn find_member(&self, members: &Members, key: &[u64], values: &mut Vec<Bits>, record: &mut [u64]) -> bool;

    /// What keeps all that tables find.
    fn pin(&self) -> &Pin<'_>;

    /// The members of a multicast group; none when there is no such group.
    fn replicas(&self, group: u16) -> &[Replica];

    /// The arrays of stateful objects.
    fn arrays(&self) -> &Arrays;

    /// Where the word is named whose [lock](forebay_tables::Lock) is held, if one is: a place for compiled code to look at and to
    /// write to while a [`crate::FastPath`] or the execution of a graph lives. Null when atomic sections need no locks, because nobody
    /// else can be in one at the same time.
    fn held_lock(&self) -> *mut *const AtomicU64;

    /// What a hit changes besides the direct counter and the time of the hit: meters it; the colour of the direct meter, if there is one.
    fn hit(&self, table: TableId, slot: u32, packet: PacketFacts) -> Option<u8>;

    /// The same for a miss, which the default entry meters.
    fn miss(&self, table: TableId, packet: PacketFacts) -> Option<u8>;

    /// See [`forebay_tables::MeterArray::lines`].
    fn meter_lines(&self, meter: MeterId, index: u64) -> [usize; 2];

    /// Undoes [`Objects::count`] for a packet that was counted and will be counted again.
    fn take_back_count(&self, counter: CounterId, index: u64, packet: PacketFacts);
}

/// Where keys and action data of a table are.
#[derive(Clone, Debug)]
pub(crate) struct TableLayout {
    pub(crate) key: KeyLayout,
    pub(crate) record: RecordLayout,
    /// How compiled code searches the table itself; nothing when it calls the runtime.
    pub(crate) search: Option<Search>,
    /// For entries that name members of an action profile: only on the fast path.
    pub(crate) members: Option<Members>,
}

impl TableLayout {
    /// The layouts of a table whose records have a memo or not; nothing when its entries name members of an action profile.
    pub(crate) fn new(program: &Program, table: TableId, memo: bool) -> Option<TableLayout> {
        let table = &program.tables[table.index()];
        if table.implementation.is_some() {
            return None;
        }
        let keys = key_specs(table);
        let widths = widths_of_actions(program, table);
        let widths: Vec<&[u32]> = widths.iter().map(Vec::as_slice).collect();
        let record = RecordLayout::of_actions(&widths, memo);
        Some(TableLayout {
            key: KeyLayout::new(&keys),
            search: Search::new(&keys, record.words()),
            record,
            members: None,
        })
    }

    /// The layouts of a table on the fast path, where records are made up for entries that name members of an action profile.
    pub(crate) fn of_fast_path(program: &Program, table: TableId, memo: bool) -> TableLayout {
        let of_members = || {
            let members = Members::of(program, table).expect("a table has records or members");
            TableLayout {
                key: members.key.clone(),
                record: members.record.clone(),
                search: None,
                members: Some(members),
            }
        };
        TableLayout::new(program, table, memo).unwrap_or_else(of_members)
    }
}

/// A table whose entries name members of an action profile, as the fast path looks it up.
#[derive(Clone, Debug)]
pub struct Members {
    /// The table.
    pub table: TableId,
    /// Where the fields of its keys are, those that select members behind the others.
    pub key: KeyLayout,
    /// Words of the key that are matched.
    pub matched_words: usize,
    /// The record that is made up. One action more than the table has is none.
    pub record: RecordLayout,
}

impl Members {
    /// The action in records of packets that have none.
    pub fn no_action(&self) -> usize {
        self.record.actions() - 1
    }

    /// Of a table, if its entries name members.
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

/// By action of a table: the widths of its parameters.
fn widths_of_actions(program: &Program, table: &Table) -> Vec<Vec<u32>> {
    let widths = table.actions.iter().map(|listed| {
        let params = program.actions[listed.action.index()].params.iter();
        params.map(|param| param.width).collect::<Vec<u32>>()
    });
    widths.collect()
}

/// How the words of a table's key are put together.
pub(crate) fn key_layout(table: &Table) -> KeyLayout {
    KeyLayout::new(&key_specs(table))
}

fn key_specs(table: &Table) -> Vec<KeySpec> {
    table.keys.iter().map(key_spec).collect()
}

pub(crate) fn key_spec(key: &forebay_ir::TableKey) -> KeySpec {
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
