//! The layout of a [flow cache](crate::flows) slot: its parts for tables and for large arrays.
//!
//! ```text
//! │ hash, tag │ key │ record's address │ key │ all words of a record │ all words of another one │ element's address │ …
//! └───────────┴── a table ─────────────┴── a small record ───────────┼── its key is what the ───┼── an array ───────┘
//!                                                                    └── table before has found ┘
//! ```
//!
//! The addresses in a slot are the flow's *trail*: the memory that they point to is prefetched before the flow's next
//! packet is executed. An element's address is only a hint: a packet that needs another element takes longer.

use crate::flow_trail::{ArrayId, element_words};
use crate::tables::{Members, TableLayout};
use forebay_bits::Bits;
use forebay_ir::TableId;
use forebay_tables::Search;
use std::collections::{BTreeMap, BTreeSet};

/// The most words of a slot, [`LINES_WORD`] included. Tables for which there is no room are searched.
const SLOT_WORDS_MAX: usize = 128;

/// Slots of more words are rounded up to cache lines of `LINE_WORDS` words, and not to a power of two.
const POWER_WORDS_MAX: usize = 32;
const LINE_WORDS: usize = 8;

/// Slots of more words record which of their lines the flow uses. The others, for tables that its packets do not look
/// up, are not prefetched.
const NOTED_WORDS: usize = 2 * LINE_WORDS;

/// The word of a slot with that record, a bit for each line.
pub(crate) const LINES_WORD: usize = 1;

/// The lines that contain these words, a bit for each.
fn lines(words: impl IntoIterator<Item = usize>) -> u64 {
    words
        .into_iter()
        .fold(0, |lines, word| lines | 1 << (word / LINE_WORDS))
}

/// Full tables of more total bytes are assumed to be outside the near caches.
pub(crate) const FAR_BYTES: u64 = 512 << 10;

/// Searching this number of tables through runtime calls costs more than fetching a slot from memory.
pub(crate) const FAR_CALLS: usize = 2;

/// The offsets of the parts of a slot.
#[derive(Clone, Debug)]
pub(crate) struct SlotLayout {
    places: BTreeMap<TableId, FlowPlace>,
    /// The words with the addresses of the elements that the flow's last packet used.
    elements: BTreeMap<ArrayId, usize>,
    /// The words that contain addresses.
    pub(crate) trail: Vec<usize>,
    /// Whether [`LINES_WORD`] says which lines of a slot its flow uses; and the lines that all flows use.
    notes_lines: bool,
    lines_of_all: u64,
    /// Whether far slots are better than no slots for flows beyond those that the processor's caches hold.
    pub(crate) goes_far: bool,
    followers: BTreeMap<TableId, Vec<FlowPlace>>,
    /// A power of two, or a multiple of the cache line.
    pub(crate) bytes: usize,
}

/// A table's place in a slot. All numbers are words of the slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowPlace {
    /// The first word of the key.
    pub(crate) key: usize,
    /// The number of words of the key. It is 0 when another table's record determines the key: see
    /// [`crate::inline_caches`].
    pub(crate) key_words: usize,
    pub(crate) nothing: Nothing,
    pub(crate) found: FoundForFlow,
}

impl FlowPlace {
    /// The first word after it.
    fn end(&self) -> usize {
        match self.found {
            FoundForFlow::Address(word) => word + 1,
            FoundForFlow::Copy(word, words) => word + words,
        }
    }
}

/// How a place encodes that nothing has been found for the flow yet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Nothing {
    /// This word is all ones, which no key (or no record) has there.
    AllOnes(usize),
    /// The record's address is null.
    Null(usize),
}

impl Nothing {
    /// The word and the value that encode it.
    pub(crate) fn word(self) -> (usize, u64) {
        match self {
            Nothing::AllOnes(word) => (word, u64::MAX),
            Nothing::Null(word) => (word, 0),
        }
    }

    /// Writes the encoding into a slot.
    ///
    /// # Safety
    ///
    /// The slot has the place's layout.
    pub(crate) unsafe fn put_into(self, slot: *mut u64) {
        let (word, value) = self.word();
        // SAFETY: the word is one of the slot's.
        unsafe { slot.add(word).write(value) }
    }
}

/// What a slot contains of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundForFlow {
    /// Its address, in this word.
    Address(usize),
    /// A copy: its first word in the slot, and the number of words.
    Copy(usize, usize),
}

/// A table that is searched, and the place for the result.
#[derive(Debug)]
pub(crate) struct Sought {
    pub(crate) table: TableId,
    pub(crate) key_words: usize,
    pub(crate) place: FlowPlace,
    /// The places of the tables whose keys this table's record determines. They are emptied when the record changes.
    pub(crate) followers: Vec<FlowPlace>,
    /// For a table with an action profile.
    pub(crate) members: Option<Members>,
    /// The lines to set in [`LINES_WORD`].
    pub(crate) lines: u64,
    /// Whether packets add entries. A miss then says nothing about the next packet, and the place stays empty.
    pub(crate) learns: bool,
}

/// A table that may get a place in slots.
pub(crate) struct SlotCandidate {
    pub(crate) table: TableId,
    pub(crate) layout: TableLayout,
    /// The table whose record determines the key of this one.
    pub(crate) leader: Option<TableId>,
    /// Whether packets add entries to it.
    pub(crate) learns: bool,
}

impl SlotCandidate {
    /// The number of key words in the place, and how the place encodes that nothing was found, relative to its first
    /// word.
    fn shape(&self, with_copy: bool) -> Option<(usize, Nothing)> {
        let key_words = self.layout.key.words();
        if self.learns {
            // The key has to encode it, since there is a record after a miss, too.
            return Some((key_words, Nothing::AllOnes(word_with_room(&self.layout)?)));
        }
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

    /// Whether the record is built for the packet, so that the slot needs a copy of it.
    fn needs_copy(&self) -> bool {
        self.layout.members.is_some()
    }

    /// Words of the place without an optional copy; `None` when there cannot be a place.
    fn words(&self) -> Option<usize> {
        let (key_words, _) = self.shape(self.needs_copy())?;
        Some(if self.needs_copy() {
            key_words + self.layout.record.words()
        } else {
            key_words + 1
        })
    }

    /// The words that a copy of the record takes in addition; `None` when the place must have the address.
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
            found: if with_copy {
                FoundForFlow::Copy(behind, self.layout.record.words_without_memo())
            } else {
                FoundForFlow::Address(behind)
            },
        }
    }
}

/// The tables whose records are copied into slots: those that must be, and others, the smallest first, as long as this
/// number of words has room for them.
fn copied_tables(chosen: &[SlotCandidate], mut room: usize) -> BTreeSet<TableId> {
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
    copied
}

impl SlotLayout {
    /// A layout with a place for each of these tables, as far as there is room, and words for elements of these arrays;
    /// `None` when no table has a place. A leader comes before its followers. Small records are copied into slots where
    /// that does not make slots larger: a look-up then accesses nothing but the slot.
    pub(crate) fn new(tables: impl IntoIterator<Item = SlotCandidate>, arrays: &[ArrayId]) -> Option<SlotLayout> {
        let mut words = 1 + arrays.iter().map(|array| array.words()).sum::<usize>();
        let mut chosen: Vec<SlotCandidate> = Vec::new();
        for mut table in tables {
            let has_place = |leader: &TableId| chosen.iter().any(|other| other.table == *leader);
            table.leader = table.leader.filter(has_place);
            let is_searched = table.layout.search != Some(Search::Never);
            match table
                .words()
                .filter(|more| is_searched && words + more < SLOT_WORDS_MAX)
            {
                Some(more) => words += more,
                None => continue,
            }
            chosen.push(table);
        }
        let notes_lines = words > NOTED_WORDS;
        let head = 1 + usize::from(notes_lines);
        words += head - 1;
        let all = words.next_power_of_two();
        let copied = copied_tables(&chosen, all - words);
        let mut places = BTreeMap::new();
        let mut followers: BTreeMap<TableId, Vec<FlowPlace>> = BTreeMap::new();
        let mut next = head;
        for table in &chosen {
            let place = table.place(next, copied.contains(&table.table));
            next = place.end();
            places.insert(table.table, place);
            if let Some(leader) = table.leader {
                followers.entry(leader).or_default().push(place);
            }
        }
        let elements = element_words(arrays, next);
        let behind = next + arrays.iter().map(|array| array.words()).sum::<usize>();
        let words = if all <= POWER_WORDS_MAX {
            all
        } else {
            behind.next_multiple_of(LINE_WORDS)
        };
        let records = places.values().filter_map(|place| match place.found {
            FoundForFlow::Address(word) => Some(word),
            FoundForFlow::Copy(..) => None,
        });
        let element_words = elements.iter().flat_map(|(array, word)| *word..word + array.words());
        let trail = records.chain(element_words).collect();
        (!places.is_empty()).then(|| SlotLayout {
            places,
            followers,
            trail,
            goes_far: false,
            bytes: 8 * words,
            notes_lines,
            lines_of_all: 1 | lines(next..behind),
            elements,
        })
    }

    /// The lines of a place that must be recorded in the slot when it is used, if any.
    pub(crate) fn lines_of(&self, place: &FlowPlace) -> u64 {
        if self.notes_lines {
            lines(place.key..place.end())
        } else {
            0
        }
    }

    /// The lines of a slot that its flow uses, a bit for each.
    ///
    /// # Safety
    ///
    /// The slot has this layout.
    pub(crate) unsafe fn lines_in_use(&self, slot: *const u64) -> u64 {
        if self.notes_lines {
            // SAFETY: the word is one of the slot's.
            self.lines_of_all | unsafe { slot.add(LINES_WORD).read() }
        } else {
            (1 << self.bytes.div_ceil(8 * LINE_WORDS)) - 1
        }
    }

    /// The word with the address of an array's element.
    pub(crate) fn element(&self, array: ArrayId) -> Option<usize> {
        self.elements.get(&array).copied()
    }

    /// Clears the addresses of meters' elements in a slot, which not every packet updates.
    ///
    /// # Safety
    ///
    /// The slot has this layout.
    pub(crate) unsafe fn forget_meters(&self, slot: *mut u64) {
        let meters = self
            .elements
            .iter()
            .filter(|(array, _)| matches!(array, ArrayId::Meter(_)));
        // SAFETY: the words are those of slots.
        meters.for_each(|(_, word)| unsafe { slot.add(*word).write(0) });
    }

    /// The places of the tables whose keys a table's record determines.
    pub(crate) fn followers(&self, leader: TableId) -> &[FlowPlace] {
        self.followers.get(&leader).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn place(&self, table: TableId) -> Option<FlowPlace> {
        self.places.get(&table).copied()
    }

    /// Initializes a slot for a new flow.
    ///
    /// # Safety
    ///
    /// The slot has this layout.
    pub(crate) unsafe fn begin(&self, slot: *mut u64, signature: u64) {
        // SAFETY: the words are those of slots.
        unsafe {
            slot.write_bytes(0, self.bytes / 8);
            slot.write(signature);
            self.emptied().for_each(|(_, nothing)| nothing.put_into(slot));
        }
    }

    /// The tables that have places, and how the places encode that nothing has been found.
    pub(crate) fn emptied(&self) -> impl Iterator<Item = (TableId, Nothing)> + '_ {
        self.places.iter().map(|(table, place)| (*table, place.nothing))
    }
}

#[cfg(test)]
impl SlotLayout {
    /// A layout for this many tables with a short key, for tests.
    pub(crate) fn of_short_keys(tables: u32) -> SlotLayout {
        let tables = (0..tables).map(|table| tests::candidate(table, tests::MAC, &[], None));
        SlotLayout::new(tables, &[]).expect("they have places")
    }
}

/// A word of the key with a bit that is never set.
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
    use forebay_ir::MeterId;
    use forebay_tables::{KeyLayout, KeySpec, MatchKind, RecordLayout};

    pub(super) fn candidate(
        table: u32,
        (width, kind): (u32, MatchKind),
        data: &[u32],
        leader: Option<u32>,
    ) -> SlotCandidate {
        let keys = [KeySpec { width, kind }];
        let record = RecordLayout::of_actions(&[data, &[]], false);
        SlotCandidate {
            table: TableId(table),
            layout: TableLayout {
                key: KeyLayout::new(&keys),
                search: Search::new(&keys, record.words()),
                record,
                members: None,
            },
            leader: leader.map(TableId),
            learns: false,
        }
    }

    pub(super) const MAC: (u32, MatchKind) = (48, MatchKind::Exact);
    const IPV4: (u32, MatchKind) = (32, MatchKind::Lpm);
    const IPV6: (u32, MatchKind) = (128, MatchKind::Lpm);

    #[test]
    fn what_routing_finds_is_in_one_line() {
        let next_hop = candidate(2, (32, MatchKind::Exact), &[48, 48, 9], Some(1));
        let tables = [candidate(0, MAC, &[], None), candidate(1, IPV4, &[32], None), next_hop];
        let layout = SlotLayout::new(tables, &[]).unwrap();
        assert_eq!(layout.bytes, 64);
        let place = |table| layout.place(TableId(table)).unwrap();
        let found = [place(0), place(1), place(2)].map(|place| (place.key_words, place.found));
        let copies = [(1, 2, 1), (1, 4, 1), (0, 5, 3)].map(|(key, word, words)| (key, FoundForFlow::Copy(word, words)));
        assert_eq!(found, copies);
        assert_eq!(layout.followers(TableId(1)).len(), 1);
    }

    #[test]
    fn a_key_that_may_be_anything_needs_an_address() {
        let tables = [candidate(0, IPV6, &[], None), candidate(1, MAC, &[128, 128, 128], None)];
        let layout = SlotLayout::new(tables, &[]).unwrap();
        let places = [0, 1].map(|table| layout.place(TableId(table)).unwrap());
        assert!(matches!(places[0].nothing, Nothing::Null(3)), "{places:?}");
        assert!(matches!(places[1].nothing, Nothing::AllOnes(4)), "{places:?}");
        assert_eq!(
            places.map(|place| place.found),
            [FoundForFlow::Address(3), FoundForFlow::Address(5)]
        );
    }

    #[test]
    fn lines_of_tables_that_are_not_looked_up_are_not_in_use() {
        let tables = (0..8).map(|table| candidate(table, IPV6, &[], None));
        let arrays = [ArrayId::Bank(0), ArrayId::Meter(MeterId(1))];
        let layout = SlotLayout::new(tables, &arrays).unwrap();
        assert_eq!(layout.bytes, 32 * 8);
        let mut slot = [0; 32];
        // SAFETY: it has as many words as the layout says.
        let lines_in_use = |slot: &[u64; 32]| unsafe { layout.lines_in_use(slot.as_ptr()) };
        // The head, and three words of elements after 24 of tables.
        assert_eq!(lines_in_use(&slot), 0b1001);
        let second = layout.lines_of(&layout.place(TableId(2)).unwrap());
        assert_eq!(second, 0b10, "words 8 to 10");
        slot[LINES_WORD] |= second;
        assert_eq!(lines_in_use(&slot), 0b1011);
        assert_eq!(arrays.map(|array| layout.element(array)), [Some(26), Some(27)]);
        slot[26..29].fill(7);
        // SAFETY: as above.
        unsafe { layout.forget_meters(slot.as_mut_ptr()) };
        assert_eq!(slot[26..29], [7, 0, 7]);
        assert!(layout.trail.ends_with(&[26, 27, 28]), "{:?}", layout.trail);
    }

    #[test]
    fn tables_without_room_have_no_place_and_lead_nowhere() {
        let many = (0..20).map(|table| candidate(table, IPV6, &[], table.checked_sub(1)));
        let layout = SlotLayout::new(many, &[]).unwrap();
        assert!(layout.bytes <= 8 * SLOT_WORDS_MAX);
        let placed = (0..20).filter(|table| layout.place(TableId(*table)).is_some()).count();
        // The first has its key, and all others follow one another.
        assert_eq!(placed, 20);
        let many = (0..60).map(|table| candidate(table, IPV6, &[], None));
        let layout = SlotLayout::new(many, &[]).unwrap();
        assert!(layout.place(TableId(41)).is_some() && layout.place(TableId(42)).is_none());
        assert!(SlotLayout::new([], &[]).is_none());
        let after_none = candidate(1, MAC, &[], Some(7));
        assert_eq!(
            SlotLayout::new([after_none], &[])
                .unwrap()
                .place(TableId(1))
                .unwrap()
                .key_words,
            1
        );
    }
}
