//! What a slot of the [flow cache](crate::flows) has of each table.
//!
//! ```text
//! │ hash, tag │ key │ record's address │ key │ all words of a record │ all words of another one │
//! └───────────┴── a table ─────────────┴── a small record ───────────┴── its key is what the table before has found
//! ```

use crate::tables::{Members, TableLayout};
use forebay_bits::Bits;
use forebay_ir::TableId;
use forebay_tables::Search;
use std::collections::{BTreeMap, BTreeSet};

/// Words of a slot at most. Tables for which there is no room are searched.
const SLOT_WORDS_MAX: usize = 128;

/// Slots of more words have as few lines as will do, of so many words each.
const POWER_WORDS_MAX: usize = 32;
const LINE_WORDS: usize = 8;

/// Where the parts of a slot are.
#[derive(Clone, Debug)]
pub(crate) struct SlotLayout {
    places: BTreeMap<TableId, FlowPlace>,
    followers: BTreeMap<TableId, Vec<FlowPlace>>,
    /// By table: the one whose record says what its key is.
    leaders: BTreeMap<TableId, TableId>,
    /// A power of two, or whole lines of the processor's cache.
    pub(crate) bytes: usize,
}

/// Where a table is in a slot. All are words of the slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowPlace {
    /// The first of the key.
    pub(crate) key: usize,
    /// How many that has. None when another table's record says what the key is: see [`crate::inline_caches`].
    pub(crate) key_words: usize,
    pub(crate) nothing: Nothing,
    pub(crate) found: FoundForFlow,
}

/// How a place says that nothing has been found for the flow yet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Nothing {
    /// This word is all ones, which it is in no key, or in no record.
    AllOnes(usize),
    /// The record's address is null.
    Null(usize),
}

impl Nothing {
    /// Which word says it, and how.
    pub(crate) fn word(self) -> (usize, u64) {
        match self {
            Nothing::AllOnes(word) => (word, u64::MAX),
            Nothing::Null(word) => (word, 0),
        }
    }

    /// Has a slot say so.
    ///
    /// # Safety
    ///
    /// It is one of the place's layout.
    pub(crate) unsafe fn put_into(self, slot: *mut u64) {
        let (word, value) = self.word();
        // SAFETY: the word is one of the slot's.
        unsafe { slot.add(word).write(value) }
    }
}

/// What a slot has of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundForFlow {
    /// Its address, in this word.
    Address(usize),
    /// All its words, so many from this one on.
    Copy(usize, usize),
}

/// A table that is searched, and where it is noted what was found.
#[derive(Debug)]
pub(crate) struct Sought {
    pub(crate) table: TableId,
    pub(crate) key_words: usize,
    pub(crate) place: FlowPlace,
    /// The places of tables whose keys this one's record says. Nothing has been found there yet when it is another one.
    pub(crate) followers: Vec<FlowPlace>,
    /// When its entries name members of an action profile.
    pub(crate) members: Option<Members>,
}

/// A table that wants a place in slots.
pub(crate) struct Wanting {
    pub(crate) table: TableId,
    pub(crate) layout: TableLayout,
    /// The table whose record says what the key is of packets that look this one up.
    pub(crate) leader: Option<TableId>,
}

impl Wanting {
    /// Words of the key that the place has, and in which way it may tell that nothing was found, by its first word.
    fn shape(&self, with_copy: bool) -> Option<(usize, Nothing)> {
        let key_words = self.layout.key.words();
        match (self.leader, with_copy) {
            (Some(_), true) => self
                .layout
                .record
                .first_word_has_room()
                .then_some((0, Nothing::AllOnes(0))),
            (Some(_), false) => Some((0, Nothing::Null(0))),
            (None, with_copy) => match word_with_room(&self.layout) {
                Some(word) => Some((key_words, Nothing::AllOnes(word))),
                None => (!with_copy).then_some((key_words, Nothing::Null(key_words))),
            },
        }
    }

    /// Whether the record is made up for a packet, and is nowhere else.
    fn needs_copy(&self) -> bool {
        self.layout.members.is_some()
    }

    /// Words of the place with the record's address, if that is enough; nothing when there cannot be a place.
    fn words(&self) -> Option<usize> {
        let (key_words, _) = self.shape(self.needs_copy())?;
        Some(match self.needs_copy() {
            true => key_words + self.layout.record.words(),
            false => key_words + 1,
        })
    }

    /// And how many more with a copy of it; nothing when it has to be the address.
    fn more_for_copy(&self) -> Option<usize> {
        self.shape(true)?;
        (!self.needs_copy()).then(|| self.layout.record.words_without_memo() - 1)
    }

    fn place(&self, first: usize, with_copy: bool) -> FlowPlace {
        let (key_words, nothing) = self.shape(with_copy).expect("a copy is made where that is possible");
        let behind = first + key_words;
        FlowPlace {
            key: first,
            key_words,
            nothing: match nothing {
                Nothing::AllOnes(word) => Nothing::AllOnes(first + word),
                Nothing::Null(word) => Nothing::Null(first + word),
            },
            found: match with_copy {
                true => FoundForFlow::Copy(behind, self.layout.record.words_without_memo()),
                false => FoundForFlow::Address(behind),
            },
        }
    }
}

impl SlotLayout {
    /// With a place for each of these tables, as far as there is room; nothing when no table has any. A leader stands before its
    /// followers. Small records are copied into slots where that does not make them larger: then a look-up touches nothing but
    /// the slot.
    pub(crate) fn new(tables: impl IntoIterator<Item = Wanting>) -> Option<SlotLayout> {
        let mut words = 1;
        let mut chosen: Vec<Wanting> = Vec::new();
        for mut table in tables {
            let has_place = |leader: &TableId| chosen.iter().any(|other| other.table == *leader);
            table.leader = table.leader.filter(has_place);
            let is_searched = table.layout.search != Some(Search::Never);
            match table
                .words()
                .filter(|more| is_searched && words + more <= SLOT_WORDS_MAX)
            {
                Some(more) => words += more,
                None => continue,
            }
            chosen.push(table);
        }
        let all = words.next_power_of_two();
        let mut room = all - words;
        let mut by_size: Vec<(usize, TableId)> = chosen
            .iter()
            .filter_map(|table| Some((table.more_for_copy()?, table.table)))
            .collect();
        by_size.sort();
        let made_up = chosen.iter().filter(|table| table.needs_copy());
        let mut copied: BTreeSet<TableId> = made_up.map(|table| table.table).collect();
        for (more, table) in by_size {
            if more <= room {
                room -= more;
                copied.insert(table);
            }
        }
        let mut places = BTreeMap::new();
        let mut followers: BTreeMap<TableId, Vec<FlowPlace>> = BTreeMap::new();
        let mut leaders = BTreeMap::new();
        let mut next = 1;
        for table in &chosen {
            let place = table.place(next, copied.contains(&table.table));
            next = match place.found {
                FoundForFlow::Address(word) => word + 1,
                FoundForFlow::Copy(word, words) => word + words,
            };
            places.insert(table.table, place);
            if let Some(leader) = table.leader {
                followers.entry(leader).or_default().push(place);
                leaders.insert(table.table, leader);
            }
        }
        let words = match all <= POWER_WORDS_MAX {
            true => all,
            false => next.next_multiple_of(LINE_WORDS),
        };
        (!places.is_empty()).then(|| SlotLayout {
            places,
            followers,
            leaders,
            bytes: 8 * words,
        })
    }

    /// The table whose record says what the key of this one is, if its place has no key.
    pub(crate) fn leader(&self, table: TableId) -> Option<TableId> {
        self.leaders.get(&table).copied()
    }

    /// The places of tables that a table leads to.
    pub(crate) fn followers(&self, leader: TableId) -> &[FlowPlace] {
        self.followers.get(&leader).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn place(&self, table: TableId) -> Option<FlowPlace> {
        self.places.get(&table).copied()
    }

    /// Gives a slot to a flow, about which nothing is known yet.
    ///
    /// # Safety
    ///
    /// It is a slot of this layout.
    pub(crate) unsafe fn begin(&self, slot: *mut u64, signature: u64) {
        // SAFETY: the words are those of slots.
        unsafe {
            slot.write_bytes(0, self.bytes / 8);
            slot.write(signature);
            self.emptied().for_each(|(_, nothing)| nothing.put_into(slot));
        }
    }

    /// The tables that have places, and how these say that nothing has been found.
    pub(crate) fn emptied(&self) -> impl Iterator<Item = (TableId, Nothing)> + '_ {
        self.places.iter().map(|(table, place)| (*table, place.nothing))
    }
}

#[cfg(test)]
impl SlotLayout {
    /// For so many tables with a short key, for tests.
    pub(crate) fn of_short_keys(tables: u32) -> SlotLayout {
        let tables = (0..tables).map(|table| tests::wanting(table, tests::MAC, &[], None));
        SlotLayout::new(tables).expect("they have places")
    }
}

/// A word of keys of which a bit is never set.
fn word_with_room(layout: &TableLayout) -> Option<usize> {
    let mut used = vec![0; layout.key.words()];
    for place in layout.key.places().iter().flatten() {
        place.put(&mut used, &Bits::ones(place.width));
    }
    used.iter().position(|bits| *bits != u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_tables::{KeyLayout, KeySpec, MatchKind, RecordLayout};

    pub(super) fn wanting(table: u32, (width, kind): (u32, MatchKind), data: &[u32], leader: Option<u32>) -> Wanting {
        let keys = [KeySpec { width, kind }];
        let record = RecordLayout::of_actions(&[data, &[]], false);
        Wanting {
            table: TableId(table),
            layout: TableLayout {
                key: KeyLayout::new(&keys),
                search: Search::new(&keys, record.words()),
                record,
                members: None,
            },
            leader: leader.map(TableId),
        }
    }

    pub(super) const MAC: (u32, MatchKind) = (48, MatchKind::Exact);
    const IPV4: (u32, MatchKind) = (32, MatchKind::Lpm);
    const IPV6: (u32, MatchKind) = (128, MatchKind::Lpm);

    #[test]
    fn what_routing_finds_is_in_one_line() {
        let next_hop = wanting(2, (32, MatchKind::Exact), &[48, 48, 9], Some(1));
        let layout = SlotLayout::new([wanting(0, MAC, &[], None), wanting(1, IPV4, &[32], None), next_hop]).unwrap();
        assert_eq!(layout.bytes, 64);
        let place = |table| layout.place(TableId(table)).unwrap();
        let found = [place(0), place(1), place(2)].map(|place| (place.key_words, place.found));
        let copies = [(1, 2, 1), (1, 4, 1), (0, 5, 3)].map(|(key, word, words)| (key, FoundForFlow::Copy(word, words)));
        assert_eq!(found, copies);
        assert_eq!(layout.followers(TableId(1)).len(), 1);
    }

    #[test]
    fn a_key_that_may_be_anything_needs_an_address() {
        let layout = SlotLayout::new([wanting(0, IPV6, &[], None), wanting(1, MAC, &[128, 128, 128], None)]).unwrap();
        let places = [0, 1].map(|table| layout.place(TableId(table)).unwrap());
        assert!(matches!(places[0].nothing, Nothing::Null(3)), "{places:?}");
        assert!(matches!(places[1].nothing, Nothing::AllOnes(4)), "{places:?}");
        assert_eq!(
            places.map(|place| place.found),
            [FoundForFlow::Address(3), FoundForFlow::Address(5)]
        );
    }

    #[test]
    fn tables_without_room_have_no_place_and_lead_nowhere() {
        let many = (0..20).map(|table| wanting(table, IPV6, &[], table.checked_sub(1)));
        let layout = SlotLayout::new(many).unwrap();
        assert!(layout.bytes <= 8 * SLOT_WORDS_MAX);
        let placed = (0..20).filter(|table| layout.place(TableId(*table)).is_some()).count();
        // The first has its key, and all others follow one another.
        assert_eq!(placed, 20);
        let many = (0..60).map(|table| wanting(table, IPV6, &[], None));
        let layout = SlotLayout::new(many).unwrap();
        assert!(layout.place(TableId(41)).is_some() && layout.place(TableId(42)).is_none());
        assert!(SlotLayout::new([]).is_none());
        let behind_none = wanting(1, MAC, &[], Some(7));
        assert_eq!(
            SlotLayout::new([behind_none])
                .unwrap()
                .place(TableId(1))
                .unwrap()
                .key_words,
            1
        );
    }
}
