//! The flow cache: what look-ups found for the last packet of a flow, one of the next packets finds at once.
//!
//! ```text
//!  fields that keys are made of ─► hash ─► slot │ hash, tag │ key, record │ key, record │ …
//!                                                      │      │
//!                            tables as they were then ◄┘      └► the key that a packet has at this look-up? then the record
//! ```
//!
//! A worker has one, in a huge page. Packets whose keys are made of the same fields share a slot, which has a place for each table.
//! Every look-up compares its own key with the one in its place, so nothing depends on which packets share a slot; where it is
//! another one, the table is searched and what was found takes its place. So a packet of a known flow needs one hash for all its
//! look-ups, no matter what kinds of tables these are, and its records can be fetched at the same time, if they are not in the slot
//! themselves.
//!
//! Slots are in pairs. A flow that comes to the slot of another one moves that into the other slot of the pair, where it is found from
//! then on.
//!
//! A slot holds as long as the tables are in the same [`State`]: whenever they are in another one, or code of another program
//! runs, the cache has another tag, and slots with an older one count as empty.
//!
//! It is of use when flows are few enough for their slots to stay. When more packets than one in [`MISSES`] find something else in
//! their slot, packets go without it for a while, each time for longer ([`FlowCache::serves`]).

use crate::tables::TableLayout;
use forebay_bits::Bits;
use forebay_ir::TableId;
use forebay_tables::memory::{HUGE_PAGE, Page};
use forebay_tables::{Search, State};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of all slots.
pub(crate) const CACHE_BYTES: usize = HUGE_PAGE;

/// Words of a slot at most. Tables for which there is no room are searched.
const SLOT_WORDS_MAX: usize = 32;

/// Where the parts of a slot are.
#[derive(Clone, Debug)]
pub(crate) struct SlotLayout {
    places: BTreeMap<TableId, FlowPlace>,
    followers: BTreeMap<TableId, Vec<FlowPlace>>,
    /// A power of two.
    pub(crate) bytes: usize,
}

/// Where a table is in a slot. All are words of the slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowPlace {
    /// The first of the key.
    pub(crate) key: usize,
    /// How many that has. None when another table's record says what the key is: see [`crate::joins`].
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

    /// Words of the place with the record's address.
    fn words(&self) -> usize {
        1 + self.shape(false).map_or(0, |(key_words, _)| key_words)
    }

    /// And how many more with a copy of it; nothing when it has to be the address.
    fn more_for_copy(&self) -> Option<usize> {
        self.shape(true)?;
        Some(self.layout.record.words_without_memo() - 1)
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
            if is_searched && words + table.words() <= SLOT_WORDS_MAX {
                words += table.words();
                chosen.push(table);
            }
        }
        let all = words.next_power_of_two();
        let mut room = all - words;
        let mut by_size: Vec<(usize, TableId)> = chosen
            .iter()
            .filter_map(|table| Some((table.more_for_copy()?, table.table)))
            .collect();
        by_size.sort();
        let mut copied = BTreeSet::new();
        for (more, table) in by_size {
            if more <= room {
                room -= more;
                copied.insert(table);
            }
        }
        let mut places = BTreeMap::new();
        let mut followers: BTreeMap<TableId, Vec<FlowPlace>> = BTreeMap::new();
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
            }
        }
        (!places.is_empty()).then(|| SlotLayout {
            places,
            followers,
            bytes: 8 * all,
        })
    }

    /// The places of tables that a table leads to.
    pub(crate) fn followers(&self, leader: TableId) -> &[FlowPlace] {
        self.followers.get(&leader).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn place(&self, table: TableId) -> Option<FlowPlace> {
        self.places.get(&table).copied()
    }

    /// Gives a slot to another flow, about which nothing is known yet; what the slot had goes into the other one of the pair, if it
    /// still holds.
    ///
    /// # Safety
    ///
    /// Both are slots of this layout.
    pub(crate) unsafe fn displace(&self, slot: *mut u64, other: *mut u64, signature: u64) {
        // SAFETY: the words are those of slots.
        unsafe {
            if slot.read() as u32 == signature as u32 {
                other.copy_from(slot, self.bytes / 8);
            }
            slot.write(signature);
            for place in self.places.values() {
                let (word, value) = place.nothing.word();
                slot.add(word).write(value);
            }
        }
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

/// Packets of which one may miss, if the cache is to be of use: then it costs what it saves.
const MISSES: u64 = 4;

/// Bursts after which it is first seen whether the cache is of use: by then all flows for which it has room have come.
const LEARNING: u32 = 512;

/// Bursts of which it is seen together.
const WINDOW: u32 = 64;

/// Bursts without it when it was of no use: at first, and at most.
const REST_MIN: u32 = 8 << 10;
const REST_MAX: u32 = 1 << 20;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct FlowCache {
    page: Option<Page>,
    /// Of the slots that hold. No slot has it when it is new.
    tag: u32,
    /// The code that wrote them, and the tables' state.
    written: Option<(u64, State)>,
    /// Look-ups that found something else in their slot, in this window.
    pub(crate) misses: u64,
    /// Packets in this window.
    packets: u64,
    phase: Phase,
    bursts_left: u32,
    /// For how long it rests if it is of no use now.
    rest: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Slots may still be empty.
    Learning,
    Serving,
    Resting,
}

impl Default for FlowCache {
    fn default() -> FlowCache {
        FlowCache {
            page: None,
            tag: 0,
            written: None,
            misses: 0,
            packets: 0,
            phase: Phase::Learning,
            bursts_left: LEARNING,
            rest: REST_MIN,
        }
    }
}

/// Begins empty.
impl Clone for FlowCache {
    fn clone(&self) -> FlowCache {
        FlowCache::default()
    }
}

impl FlowCache {
    /// Whether the burst that begins should use it.
    #[inline]
    pub(crate) fn serves(&mut self) -> bool {
        if self.bursts_left == 0 {
            self.next_phase();
        }
        self.bursts_left -= 1;
        self.phase != Phase::Resting
    }

    fn next_phase(&mut self) {
        let fails = self.misses * MISSES > self.packets;
        (self.phase, self.bursts_left) = match self.phase {
            Phase::Serving if fails => {
                let rest = self.rest;
                self.rest = (2 * rest).min(REST_MAX);
                (Phase::Resting, rest)
            }
            Phase::Serving => {
                self.rest = REST_MIN;
                (Phase::Serving, WINDOW)
            }
            Phase::Learning => (Phase::Serving, WINDOW),
            Phase::Resting => (Phase::Learning, LEARNING),
        };
        (self.misses, self.packets) = (0, 0);
    }

    /// So many packets are about to use it.
    #[inline]
    pub(crate) fn count(&mut self, packets: usize) {
        self.packets += packets as u64;
    }

    /// Its first slot and the tag of those that hold, for code with this number that uses tables in this state.
    #[inline]
    pub(crate) fn open(&mut self, code: u64, state: Option<State>) -> (*mut u64, u64) {
        let written = state.map(|state| (code, state));
        if written.is_none() || written != self.written {
            self.written = written;
            self.tag = self.tag.checked_add(1).unwrap_or_else(|| {
                self.page = None;
                1
            });
        }
        (self.page.get_or_insert_default().as_mut_ptr(), self.tag.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_tables::Domain;

    /// Bursts of 64 packets each until it serves no more, or again; in each, so many look-ups miss.
    fn bursts_while(cache: &mut FlowCache, serves: bool, misses: u64) -> u32 {
        (0..)
            .find(|_| {
                if cache.serves() != serves {
                    return true;
                }
                cache.count(64);
                cache.misses += misses;
                false
            })
            .expect("it changes")
    }

    #[test]
    fn it_rests_when_it_is_of_no_use_and_tries_again() {
        let mut cache = FlowCache::default();
        assert_eq!(bursts_while(&mut cache, true, 17), LEARNING + WINDOW);
        assert_eq!(bursts_while(&mut cache, false, 0), REST_MIN - 1);
        assert_eq!(bursts_while(&mut cache, true, 17), LEARNING + WINDOW - 1);
        assert_eq!(bursts_while(&mut cache, false, 0), 2 * REST_MIN - 1, "twice as long");
        for burst in 0..10 * (LEARNING + WINDOW) {
            assert!(cache.serves(), "burst {burst}");
            cache.count(64);
            cache.misses += 16;
        }
        let more = bursts_while(&mut cache, true, 17);
        assert!(more <= 2 * WINDOW, "{more} bursts");
        assert_eq!(bursts_while(&mut cache, false, 0), REST_MIN - 1, "it was of use");
    }

    #[test]
    fn a_slot_holds_for_the_same_code_and_the_same_tables() {
        let (domain, other) = (Domain::new(), Domain::new());
        let [state, of_another] = [&domain, &other].map(|domain| domain.reader().pin().state());
        assert!(state.is_some() && state != of_another);
        let mut cache = FlowCache::default();
        let mut tag = |code, state| cache.open(code, state).1;
        let first = tag(7, state);
        assert!(first > 0, "no slot of a new page holds");
        assert_eq!(tag(7, state), first);
        let mut tags = vec![first, tag(8, state), tag(8, of_another), tag(7, state)];
        tags.extend([tag(7, None), tag(7, None), tag(7, state)]);
        let all = tags.len();
        tags.dedup();
        assert!(tags.is_sorted() && tags.len() == all, "{tags:?}");
        cache.tag = u32::MAX;
        assert_eq!(cache.open(7, None).1, 1, "with a new page");
    }
}
